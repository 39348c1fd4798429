# What the outputs are when the driver misbehaves, through the fake NVML.
. "$SOURCE_ROOT/tests/lib.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
export ROOFTOP_NVML="$BUILD_ROOT/tests/fake/libfake_nvml.so"
export ROOFTOP_SOURCE=nvml

# script NAME: the driver's answers for what follows, from standard input
script() {
    export FAKE_NVML_SCRIPT="$scratch/$1"
    cat >"$FAKE_NVML_SCRIPT"
}

# valid NAME: two records of all GPUs are JSON without a number that is none
valid() {
    "$ROOFTOP" stat --interval 0.1 --count 2 --format json --processes >json 2>err &&
        "$jsoncheck" <json && ! grep -Eiq '[:[,]-?(nan|inf)' json && [ "$(wc -l <json)" -eq 2 ]
    result $? "$1: two records of valid JSON"
}

# refused CODE PATTERN NAME: stat, list and doctor end so, and doctor says why
refused() {
    expect_exit "$1" "$3: stat" "$ROOFTOP" stat --count 1
    expect_text err "$2" "$3: stat says why"
    expect_exit "$1" "$3: doctor" "$ROOFTOP" doctor
    expect_text out "^What works here" "$3: doctor says what works"
}

script rm_mismatch <<'END'
gpu h200
init 18
END
refused 3 'version' "library and kernel module differ"
script no_permission <<'END'
gpu h200
init 4
END
refused 3 'permission|not allowed|refuses|may not' "no permission"
script no_driver <<'END'
gpu h200
init 9
END
refused 3 'driver' "no driver"
script no_gpu </dev/null
refused 3 'GPU' "a driver without a GPU"

script bare <<'END'
gpu bare
END
valid "a driver that supports nothing"
script odd_name <<'END'
gpu h200
nvmlDeviceGetName -> 0 "H\xff\x1b[1m\"200\n"
END
valid "a name that is no text"
script lost <<'END'
gpu h200
gpu h200
* -> 15
gpu h200
nvmlDeviceGetPersistenceMode -> 0 0
END
valid "a lost GPU among others"
# "none": not read yet, on a busy machine.
"$jsoncheck" gpus.0.state gpus.2.state <json | sed 's/"none"/"ok"/g' | sort -u >states
echo '"ok" "ok"' >expected
expect_same states expected "the others go on"
expect_exit 1 "doctor with a lost GPU" "$ROOFTOP" doctor
[ "$(grep -c '^  mend  persistence ' out)" -eq 1 ]
result $? "it tells of the one GPU without persistence mode"
sed '1,/^Metrics of GPU 1$/d' out >lost
expect_text lost '^  mend  missing       the GPU is lost: .*graphics_active_ratio' "it says what is lost"
script many <<END
$(i=0; while [ $i -lt 64 ]; do echo 'gpu h200'; i=$((i + 1)); done)
END
valid "64 GPUs"
"$jsoncheck" gpus.# gpus.63.index <json | sort -u >counts
echo '64 63' >expected
expect_same counts expected "all of them, in order"
script processes <<'END'
gpu h200
processes compute 99999999:1048576 2147483647:?
END
valid "processes that have gone"
expect_line '"processes":\[\{' "which are listed" "$ROOFTOP" stat --interval 0.1 --format json --processes
grep -m 1 '"processes":\[{' out |
    "$jsoncheck" gpus.0.processes.# gpus.0.processes.0.outside gpus.0.processes.1.memory_bytes >values
echo '2 true null' >expected
expect_same values expected "they are outside, and memory that is not known is null"

# NVML is started once, not for each record.
script once <<END
gpu h200
log $scratch/log
END
expect_exit 0 "three records" "$ROOFTOP" stat --interval 0.1 --count 3
[ "$(grep -c '^nvmlInit' log)" -eq 1 ]
result $? "one start of the driver's library"

# A record is there when its interval is over, whoever reads: the next one is an hour away.
script flush <<'END'
gpu h200
END
mkfifo pipe
for form in text json csv; do
    "$ROOFTOP" stat --interval 1h --format $form >pipe &
    timeout 60 head -n 1 pipe >first
    [ -s first ]
    result $? "$form: the first record is not held back"
    kill $! 2>/dev/null
    wait $! 2>/dev/null
done

finish
