. "$SOURCE_ROOT/tests/lib.sh"

# `./dev test` in a tree with nothing in it, and tools that only do as they are told: what it counts,
# and the status that it ends with, which is all that CI reads.
mkdir -p house/.ci house/tests/house house/tests/device house/src house/include house/man house/docs tools
cp "$SOURCE_ROOT/dev" house/dev
cp "$SOURCE_ROOT/tests/house/summary.awk" house/tests/house/
: >house/tests/house/layering.sh
: >house/README.md
echo 'usage: load.py' >house/tests/device/load.py

tool() {
    { echo '#!/bin/sh' && cat; } >"tools/$1"
    chmod +x "tools/$1"
}

for name in clang-format-19 cppcheck codespell shellcheck; do
    echo exit 0 | tool "$name"
done
echo "printf 'install ok installed\n'" | tool dpkg-query
tool meson <<'END_OF_TOOL'
case $1 in
setup)
    mkdir -p "$2/meson-logs" "$2/src" "$2/tests/fuzz"
    : >"$2/build.ninja"
    printf '#!/bin/sh\n[ "$1" != list ]\n' >"$2/src/rooftop"
    printf '#!/bin/sh\n' >"$2/tests/fuzz/fuzz_one"
    chmod +x "$2/src/rooftop" "$2/tests/fuzz/fuzz_one"
    ;;
test)
    not= status=0
    [ "$3" != "${FAILING_TEST:-}" ] || not='not ' status=1
    cat >"$3/meson-logs/testlog.txt" <<END_OF_LOG
===================== 1/1 ======================
test:         rooftop:unit / one
result:       exit status $status
------------------- stdout ---------------------
1..1
${not}ok 1 - one
END_OF_LOG
    exit $status
    ;;
esac
END_OF_TOOL
tool ninja <<'END_OF_TOOL'
[ "$2" != "${FAILING_BUILD:-}" ] || { echo "FAILED: $2/one.o"; exit 1; }
END_OF_TOOL

# dev_test [NAME=VALUE…] [all]
dev_test() {
    rm -rf house/build-*
    env PATH="$scratch/tools:$PATH" "$@"
}

expect_exit 0 "every test passes" dev_test house/dev test
expect_text out '^1 passed, 0 failed, 1 skipped$' "one test, and one that needs a GPU"

expect_exit 0 "every test of all passes" dev_test house/dev test all
expect_text out '^11 passed, 0 failed, 1 skipped$' "four builds' tests, a fuzzer, five kinds of lint and ./dev run"
tail -n 1 out >last
expect_text last ' skipped$' "the count is the last line"

# A system that lacks chromium, as Ubuntu does.
tool dpkg-query <<'END_OF_TOOL'
[ "$4" = podman ] || [ "$4" = chromium ] || printf 'install ok installed\n'
END_OF_TOOL
tool apt-cache <<'END_OF_TOOL'
[ "$2" = chromium ] && echo '  Candidate: (none)' || echo '  Candidate: 1.0'
END_OF_TOOL
echo "echo \"\$*\" >>$scratch/installed" | tool apt-get
echo '"$@"' | tool sudo
expect_exit 0 "a package is not to be had" dev_test house/dev test all
expect_text err 'there is no package chromium here; what needs it is skipped' "it is named"
grep -E 'install .* podman *$' installed | grep -qv chromium
result $? "the others are installed"
echo "printf 'install ok installed\n'" | tool dpkg-query

expect_exit 1 "a test fails" dev_test FAILING_TEST=build-test house/dev test
expect_exit 1 "a test fails under TSan" dev_test FAILING_TEST=build-tsan house/dev test all
expect_text out '^10 passed, 1 failed, 1 skipped$' "the others are run"
expect_exit 1 "clang's build fails" dev_test FAILING_BUILD=build-clang house/dev test all
expect_text err 'there is no build in build-clang' "it is named"

finish
