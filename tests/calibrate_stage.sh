# For the shell tests of calibrate: a fake GPU, which the files `nvml` and `cuda` describe.

fake=$BUILD_ROOT/tests/fake
export ROOFTOP_NVML="$fake/libfake_nvml.so" ROOFTOP_CUDA="$fake/libfake_cuda.so" \
    ROOFTOP_CUBLASLT="$fake/libfake_cuda.so" ROOFTOP_CUPTI="$PWD/none" FAKE_NVML_SCRIPT="$PWD/nvml" \
    ROOFTOP_FAKE_CUDA="$PWD/cuda"

idle_gpu() {
    cat >nvml <<'END'
gpu h200
processes compute
processes mps
processes graphics
nvmlDeviceGetUtilizationRates -> 0 0 0
nvmlGpmMetricsGet 1 -> 0 0
END
}
