# Writing and reading recordings, on the file system of the temporary folder.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
"$BUILD_ROOT/tests/bench/bench_record" "$scratch/bench.roof"
