. "$SOURCE_ROOT/tests/lib.sh"

data=$SOURCE_ROOT/tests/data
jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

# The source gives an instance before its GPU, and one whose GPU is not asked for.
cat >mixed.sim <<'END'
device name="GPU A MIG 1g" uuid=MIG-1 parent_index=0 memory_total_bytes=18G sm_count=16
device name="GPU A" uuid=GPU-A cuda_index=1 pci_address=00000000:41:00.0 memory_total_bytes=141G sm_count=132
device name="GPU B" uuid=GPU-B cuda_index=0 pci_address=00000000:42:00.0
at 0
end 1
END
"$ROOFTOP" list --source sim:mixed.sim >out
expect_text out '^GPU +CUDA +PCI +MEMORY +SMs +NAME +UUID$' "a header"
expect_text out '^0 +1  00000000:41:00\.0 +141 GiB +132  GPU A +GPU-A$' "a GPU, in both orders"
expect_text out '^1 +0  00000000:42:00\.0 +- +-  GPU B +GPU-B$' "what is not known is no zero"
sed -n 's/.* //p' out >uuids
printf 'UUID\nGPU-A\nMIG-1\nGPU-B\n' >expected
expect_same uuids expected "an instance comes behind its GPU"

"$ROOFTOP" list --source sim:mixed.sim --format json |
    "$jsoncheck" gpus.# gpus.0.uuid gpus.1.parent_index gpus.1.sm_count gpus.2.memory_total_bytes \
        gpus.2.cuda_index >values
echo '3 "GPU-A" 0 16 null 0' >expected
expect_same values expected "JSON has all fields"
"$ROOFTOP" list --source sim:mixed.sim --format json --gpu MIG-1 | "$jsoncheck" gpus.# gpus.0.uuid >values
echo '1 "MIG-1"' >expected
expect_same values expected "an instance alone"
"$ROOFTOP" list --source "sim:$data/eight.sim" --format json | "$jsoncheck" gpus.# >values
echo 8 >expected
expect_same values expected "eight GPUs"

expect_exit 3 "no GPU" env ROOFTOP_NVML=/not/there "$ROOFTOP" list --source nvml
[ ! -s out ]
result $? "nothing is listed then"
expect_exit 2 "an unknown GPU" "$ROOFTOP" list --source sim:mixed.sim --gpu 5
expect_exit 2 "a stray word" "$ROOFTOP" list word
"$ROOFTOP" list --source sim:mixed.sim >/dev/full 2>err
[ $? -eq 1 ]
result $? "a full disk is a failure"

finish
