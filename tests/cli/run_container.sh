# A job in a container of an engine that starts it below itself, as podman does: docs/SHARING.md.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck

# Its root is this host's programs, so that nothing is fetched.
mkdir -p root/usr root/proc root/dev root/tmp
for folder in bin lib lib64; do
    [ ! -L "/$folder" ] || ln -s "usr/$folder" root/$folder
done

# engine OPTION…: runs podman; a sandbox may not let it raise limits, or use its usual runtime.
engine() {
    podman --log-level=error $runtime run --rm --network none $limits -v /usr:/usr:ro "$@"
}
if ! command -v podman >/dev/null; then
    skip "a job in a container" "no podman here; ./dev test all installs it"
    finish
fi
usable=
for runtime in '' '--runtime runc'; do
    for limits in '' '--ulimit nofile=1024:1024 --ulimit nproc=1024:1024'; do
        [ -n "$usable" ] || { engine --rootfs "$PWD/root" true >/dev/null 2>podman.err && usable="$runtime/$limits"; }
    done
done
if [ -z "$usable" ]; then
    skip "a job in a container" "podman starts none here: $(tail -n 1 podman.err)"
    finish
fi
runtime=${usable%%/*} limits=${usable#*/}

stage 1
cat >contained <<END
exec podman --log-level=error $runtime run --rm --network none $limits -v /usr:/usr:ro \\
    -v "\$CUDA_MPS_PIPE_DIRECTORY:\$CUDA_MPS_PIPE_DIRECTORY" -v /dev/shm:/dev/shm \\
    -e CUDA_VISIBLE_DEVICES -e CUDA_MPS_PIPE_DIRECTORY -e CUDA_MPS_ACTIVE_THREAD_PERCENTAGE \\
    -e CUDA_MPS_PINNED_DEVICE_MEM_LIMIT -e SPT_NOENV \\
    -v "$fake:$fake:ro" -v "$FAKE_GPU:$FAKE_GPU" -e FAKE_GPU -v /proc:/hostproc:ro -e FAKE_PROC=/hostproc \\
    "\$@"
END

expect_exit 0 "a job in a container" "$ROOFTOP" run --share --sm 25% --mem 4G --json a.json -- \
    sh contained --rootfs "$PWD/root" "$fake_job" title sm alloc 5G alloc 3G seen 4
printf 'sm 32\nalloc 5G -> 2\nalloc 3G -> 0\n' >expected
expect_same out expected "its limits hold there"
"$jsoncheck" verified gpus.0.memory_peak_bytes <a.json >values
echo 'true 3745513472' >expected
expect_same values expected "it was verified by the host's PID, and its memory is in the account"
expect_exit 121 "one whose container does not know its limit" "$ROOFTOP" run --share --mem 4G -- \
    sh contained -e CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=64G --rootfs "$PWD/root" "$fake_job" alloc 1G spin 600
expect_exit 121 "one without the pipe folder" "$ROOFTOP" run --share --mem 4G -- \
    sh contained -e CUDA_MPS_PIPE_DIRECTORY=/tmp --rootfs "$PWD/root" "$fake_job" alloc 1G spin 600
expect_text err 'uses the GPU without MPS' "and says why"
[ -z "$(podman ps -q --filter status=running 2>/dev/null)" ]
result $? "what was stopped has left no container"

finish
