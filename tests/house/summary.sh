. "$SOURCE_ROOT/tests/lib.sh"

# The parts of meson's testlog.txt that the count is made from.
one_test() {
    cat <<END
==================================== $1 =====================================
test:         rooftop:unit / $2
start time:   16:51:07
duration:     0.01s
result:       $3
command:      /build/test
----------------------------------- stdout -----------------------------------
$(cat)
==============================================================================

END
}

summary() {
    awk -v suite=test -v status="$1" -f "$SOURCE_ROOT/tests/house/summary.awk" log >out
}

one_test 1/2 good 'exit status 0' >log <<'END'
1..3
ok 1 - one
ok 2 - two # SKIP no GPU here
ok 3 - three
END
one_test 2/2 whole 'exit status 0' >>log <<'END'
ok 1 - one
1..1
END
summary 0
expect_text out '^total 3 0 1$' "lines of TAP are counted one by one"
expect_text out '^skipped test: unit / good: two: no GPU here$' "a skip is named with its reason"

one_test 1/1 bad 'exit status 1' >log <<'END'
ok 1 - one
not ok 2 - two
# here is why
1..2
END
summary 1
expect_text out '^total 1 1 0$' "a failure is counted once"
expect_text out '^FAILED test: unit / bad: two$' "a failure is named"
expect_text out '^    # here is why$' "what a failed test said is shown"

one_test 1/2 crash 'killed by signal 11 SIGSEGV' >log <<'END'
ok 1 - one
END
one_test 2/2 sane 'exit status 0' >>log <<'END'
ok 1 - one
1..1
END
summary 1
expect_text out '^total 2 1 0$' "a crash after a passed line is a failure"
expect_text out 'FAILED test: unit / crash: killed by signal 11' "a crash is named"

one_test 1/1 silent 'killed by signal 15 SIGTERM' </dev/null >log
summary 1
expect_text out '^total 0 1 0$' "a time-out without a line is a failure"

one_test 1/1 absent 'exit status 77' >log <<'END'
no such library here
END
summary 0
expect_text out '^total 0 0 1$' "exit 77 skips a whole test"
expect_text out 'absent: no such library here$' "its first line is the reason"

one_test 1/1 short 'exit status 0' >log <<'END'
1..5
ok 1 - one
END
summary 1
expect_text out '^total 1 1 0$' "a failure that only meson sees is counted"

finish
