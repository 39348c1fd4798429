# Reads meson's testlog.txt; prints a line for each test that failed or was skipped, and last
# "total PASSED FAILED SKIPPED", where each line of a test's TAP output counts as one.
# Variables: suite, the name to print; status, meson's own exit status.

function flush() {
    if (test == "")
        return
    ended_well = result ~ /^exit status 0/
    if (result ~ /^exit status 77/ && ok + not_ok + skip == 0) {
        print "skipped " suite ": " test ": " (reason == "" ? "the test says no more" : reason)
        skips++
    } else if (ok + not_ok + skip == 0 && !ended_well || ok + skip > 0 && not_ok == 0 && !ended_well) {
        print "FAILED " suite ": " test ": " result
        printf "%s", tail
        failures++
    } else if (ok + not_ok + skip == 0) {
        ok = 1
    }
    passes += ok
    failures += not_ok
    skips += skip
    if (not_ok)
        printf "%s", tail
}

/^=+ [0-9]+\/[0-9]+ =+$/ {
    flush()
    test = result = section = reason = tail = ""
    ok = not_ok = skip = 0
    next
}
/^test: / && section == "" { test = $0; sub(/^test: +([^ ]+:)?/, "", test); next }
/^result: / && section == "" { result = $0; sub(/^result: +/, "", result); next }
/^-+ (stdout|stderr) -+$/ { section = $2; next }
/^=+$/ { section = "end"; next }
section == "stdout" && /^ok .*# *[Ss][Kk][Ii][Pp]/ {
    skip++
    sub(/^ok [0-9]+ *-? */, "")
    sub(/ *# *[Ss][Kk][Ii][Pp] */, ": ")
    print "skipped " suite ": " test ": " $0
    next
}
section == "stdout" && /^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ {
    skip++
    sub(/^1\.\.0 *# *[Ss][Kk][Ii][Pp] */, "")
    print "skipped " suite ": " test ": " $0
    next
}
section == "stdout" && /^ok / { ok++; next }
section == "stdout" && /^not ok / {
    not_ok++
    sub(/^not ok [0-9]+ *-? */, "")
    print "FAILED " suite ": " test ": " $0
    next
}
section == "stdout" || section == "stderr" {
    if (reason == "" && $0 != "" && $0 !~ /^1\.\./ && $0 !~ /^TAP version/)
        reason = $0
    if (length(tail) < 4000)
        tail = tail "    " $0 "\n"
}

END {
    flush()
    # A plan that was not kept, or output that is no TAP: meson sees it, the lines do not show it.
    if (status != 0 && failures == 0) {
        print "FAILED " suite ": meson test exited with " status
        failures++
    }
    print "total " passes + 0, failures + 0, skips + 0
}
