. "$SOURCE_ROOT/tests/lib.sh"

PATH=$PATH:/usr/local/cuda/bin
ptx=$SOURCE_ROOT/kernels/calibrate.ptx

# Drivers from 525 (CUDA 12.0) on know PTX 8.0.
expect_text "$ptx" '^\.version 8\.0$' "the version of PTX is one that drivers from 525 on know"
expect_text "$ptx" '^\.target sm_80$' "the code is for Ampere and newer"

if command -v ptxas >/dev/null; then
    for chip in sm_80 sm_86 sm_89 sm_90 sm_100 sm_120; do
        if ptxas --help | grep -q "'$chip'"; then
            ptxas -arch "$chip" "$ptx" -o kernels.cubin >log 2>&1
            result $? "ptxas accepts it for $chip"
            sed 's/^/# /' log
        else
            skip "ptxas for $chip" "this ptxas does not know it"
        fi
    done
else
    skip "ptxas accepts it" "there is no ptxas"
fi

# Another version of nvcc makes other code of the same source.
if command -v nvcc >/dev/null && nvcc --version | grep -q 'V13\.0\.88'; then
    sh "$SOURCE_ROOT/kernels/generate.sh" nvcc "$SOURCE_ROOT/kernels/calibrate.cu" >fresh
    expect_same fresh "$ptx" "the PTX is that of the source"
else
    skip "the PTX is that of the source" "it was made by nvcc 13.0.88"
fi

finish
