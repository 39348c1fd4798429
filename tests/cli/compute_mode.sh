# What the compute mode of a GPU means for jobs on it.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
run="$ROOFTOP run -q"

# set_mode GPU MODE: as nvidia-smi -c would.
set_mode() { printf '%s' "$2" >"gpu/compute_mode.$1"; }

stage 2

# Nobody may use the first GPU.
set_mode 0 2
expect_exit 3 "a GPU whose mode is PROHIBITED" $run --gpu 0 -- touch ran
expect_text err 'nobody may use GPU-.*1: its compute mode is PROHIBITED' "and says so"
expect_text err 'nvidia-smi -c DEFAULT' "and what to do"
expect_exit 3 "shared neither" $run --gpu 0 --share --mem 1G -- touch ran
expect_exit 0 "the other GPU is taken" $run -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
expect_text out '^GPU-.*2$' "by its UUID"
"$ROOFTOP" slots >out
expect_text out '^    compute mode PROHIBITED: no job can use it$' "slots"
"$ROOFTOP" slots --format json | "$jsoncheck" gpus.0.compute_mode gpus.1.compute_mode >values
echo '"PROHIBITED" "DEFAULT"' >expected
expect_same values expected "slots as JSON"
expect_exit 1 "doctor finds something to mend" "$ROOFTOP" doctor --source nvml
expect_text out '^  mend  compute_mode  its compute mode is PROHIBITED' "and what"
expect_text out '-> as root: nvidia-smi -i [0-9a-fA-F:.]+ -c DEFAULT$' "and how"

doctor() { "$ROOFTOP" doctor --source nvml --format json >out; }
doctor
expect_text out 'nvidia-cuda-mps-control, version 13000: the SMs of a slot are a percentage"' "doctor on MPS"
FAKE_MPS_VERSION=13010 doctor
expect_text out 'version 13010: the SMs of a slot are a static partition"' "of a later version"
ROOFTOP_SHM=/not/there doctor
expect_text out '"/dev/shm cannot be written, and MPS needs it"' "without /dev/shm"
ROOFTOP_MPS_CONTROL=/not/there doctor
expect_text out '"there is no nvidia-cuda-mps-control here: a job has a GPU to itself"' "and without it"

# One process at a time.
set_mode 0 3
"$ROOFTOP" doctor --source nvml >out
expect_text out '^  note  compute_mode  its compute mode is EXCLUSIVE_PROCESS: one process' "doctor notes EXCLUSIVE_PROCESS"
"$ROOFTOP" slots >out
expect_text out '^    compute mode EXCLUSIVE_PROCESS: for one process, or jobs that share$' "slots too"
expect_exit 0 "jobs share it" $run --gpu 0 --share --mem 2G -- "$fake_job" alloc 1G
expect_exit 0 "a job has it for itself" $run --gpu 0 -- "$fake_job" alloc 1G
expect_text err 'EXCLUSIVE_PROCESS: one process of the job can use it' "and is told that its processes cannot share it"
"$fake_job" start touch up wait end &
await [ -e up ]
expect_exit 3 "nobody goes beside a program there" $run --gpu 0 --beside -- touch ran
expect_text err 'in use by .*fake_job.*, and its compute mode EXCLUSIVE_PROCESS admits nobody beside it' "and says why"
touch end
wait

[ ! -e ran ]
result $? "none of the refused was run"

finish
