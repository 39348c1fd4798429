# Memory stays what it is, however long it goes on and however many processes come and go.
. "$SOURCE_ROOT/tests/lib.sh"

if ldd "$ROOFTOP" | grep -q 'lib[at]san'; then
    echo "1..0 # SKIP a sanitizer keeps what was freed"
    exit 0
fi

awk 'BEGIN {
    print "device name=\"GPU\" uuid=GPU-1"
    for (i = 0; i < 6000; i++) {
        printf "at %.1f\n", i / 2
        if (i > 0)
            printf "process 0 pid=%d gone\n", 1000 + i - 1
        printf "process 0 pid=%d memory=1G user=u%d command=\"job %d\" start=0\n", 1000 + i, i, i
        printf "gpu 0 sm_active_ratio=%d%%\n", i % 100
    }
    print "end 3000"
}' >soak.sim

# Its memory in kB after 3000 records and after 27000, and the number of records.
mkfifo pipe
"$ROOFTOP" stat --source sim:soak.sim@max --interval 0.1 --format json --processes >pipe &
awk -v status="/proc/$!/status" 'function resident(  line, word) {
        while ((getline line <status) > 0)
            if (split(line, word) && word[1] == "VmRSS:")
                print word[2]
        close(status)
    }
    NR == 3000 || NR == 27000 { resident() }
    END { print NR }' <pipe >memory
wait $!
[ "$(sed -n 3p memory)" -ge 30000 ]
result $? "30000 records"
[ "$(sed -n 2p memory)" -le $(($(sed -n 1p memory) + 512)) ]
result $? "memory does not grow with them"
sed 's/^/# /' memory

finish
