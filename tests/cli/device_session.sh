# tests/device/session.sh: a step that fails or takes too long costs no other, and no end takes away what was found.
. "$SOURCE_ROOT/tests/lib.sh"

session=$SOURCE_ROOT/tests/device/session.sh
if grep -qi gvisor /proc/version; then
    skip 'steps of a session' 'gVisor'
    finish
fi

# In the order of the steps that $OUT/session.tar.gz has.
packed() {
    tar -xzOf kept/session.tar.gz ./found
}

export OUT=kept
expect_exit 2 'without seconds' bash "$session"
expect_text err 'session.sh SECONDS' 'it says how it is used'

mkfifo never
cat >plan <<'END'
20 first echo one >>"$OUT/found"; echo said
20 failing exit 7
1 long read x <never
20 last echo last >>"$OUT/found"
END
bash "$session" 60 <plan >out 2>err
result $? 'a plan ends with 0'
expect_text out '^== first: exit 0' 'the first step'
expect_text out '^said$' 'what it printed'
expect_text out '^== failing: exit 7' 'a step that fails'
expect_text out '^== long: exit 124' 'one that takes too long'
[ "$(packed | tr '\n' ' ')" = 'one last ' ]
result $? 'all that was found is packed'

rm kept/session.tar.gz
cat >plan <<'END'
20 first echo one >>"$OUT/found"
600 second : >begun; read x <never
END
bash "$session" 600 <plan >out 2>err &
await test -e begun
kill -KILL $!
wait 2>/dev/null
[ "$(packed)" = one ]
result $? 'a session that is killed leaves what was found before'
: >never # its step ends

echo '20 first true' >plan
bash "$session" 12 <plan >out 2>err
result $? 'no time for a step is no failure'
expect_text out 'first: left out' 'it is left out'
finish
