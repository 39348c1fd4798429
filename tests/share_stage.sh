# A machine with GPUs and MPS for shell tests: the fake NVML, daemon and CUDA program, in the scratch
# folder. Include it behind lib.sh; `stage GPUS` makes it.

fake=$BUILD_ROOT/tests/fake
fake_job=$fake/fake_job

stage() {
    mkdir -p gpu run
    : >gpu/devices
    printf 'follow\nliving\nlog %s/gpu/calls\n' "$PWD" >gpu/base
    i=0
    while [ "$i" -lt "$1" ]; do
        i=$((i + 1))
        printf 'GPU-00000000-0000-4000-8000-%012u\n' "$i" >>gpu/devices
        echo 'gpu h200' >>gpu/base
    done
    cp gpu/base gpu/nvml
    : >mps_script
    export FAKE_GPU="$PWD/gpu" FAKE_NVML_SCRIPT="$PWD/gpu/nvml" FAKE_MPS_SCRIPT="$PWD/mps_script"
    export ROOFTOP_NVML="$fake/libfake_nvml.so" ROOFTOP_MPS_CONTROL="$fake/nvidia-cuda-mps-control"
    # A chroot may lack a /dev/shm that can be written.
    export ROOFTOP_RUNTIME_DIR="$PWD/run" ROOFTOP_SHM="$PWD/run" ROOFTOP_SOURCE=nvml
    export FAKE_NVML_THREAD=1
    unset CUDA_VISIBLE_DEVICES CUDA_MPS_PIPE_DIRECTORY
    # Something must have told the fake NVML of its processes once.
    "$fake_job" start
}
