# What a user of the library gets: `meson install` into a scratch folder, and the example built
# against that through pkg-config, as C and as C++, shared and static.
. "$SOURCE_ROOT/tests/lib.sh"

root=$scratch/root
expect_exit 0 "install" meson install -C "$BUILD_ROOT" --no-rebuild --destdir "$root"

library=$(find "$root" -name 'librooftop.so' | head -n 1)
folder=$(dirname "$library")
[ -n "$library" ] && [ -f "$folder/librooftop.a" ]
result $? "the library is there, shared and static"
find "$root" -name rooftop.h | grep -q '/include/rooftop.h$'
result $? "the header is there"
readelf -d "$library" | grep -q 'SONAME.*\[librooftop\.so\.[0-9]*\]'
result $? "its soname has a version"

find "$root" -name rooftop -path '*/bin/*' -exec readelf -d {} \; | grep -q BIND_NOW
result $? "no relocation of the program can be written while it runs"

# What the header declares, and nothing else.
sed 's,/\*.*\*/,,' "$SOURCE_ROOT/include/rooftop.h" |
    grep -E '^[a-z].*[ *]rooftop_[a-z_]*\(' | sed 's/.*[ *]\(rooftop_[a-z_]*\)(.*/\1/' | sort -u >declared
nm -D --defined-only "$library" | awk '{ print $3 }' | sort >exported
nm -g --defined-only "$folder/librooftop.a" | awk 'NF == 3 { print $3 }' | sort >visible
[ "$(wc -l <declared)" -gt 30 ]
result $? "there are declarations to read"
expect_same exported declared "the shared library exports what the header declares"
expect_same visible declared "the static library shows what the header declares"

# Also where objects are not yet machine code: distributions build so.
echo '__attribute__((visibility("hidden"))) int inner(void) { return 1; }' >inner.c
echo 'int inner(void); int rooftop_outer(void) { return inner(); }' >outer.c
gcc -flto -fPIC -c inner.c outer.c && gcc-ar rcs parts.a inner.o outer.o &&
    CC='gcc -flinker-output=nolto-rel' sh "$SOURCE_ROOT/src/api/archive.sh" lto.a - parts.a
nm -g --defined-only lto.a | awk 'NF == 3 { print $3 }' >visible
echo rooftop_outer >declared
expect_same visible declared "and so does one of objects for link-time optimisation"

export PKG_CONFIG_LIBDIR="$folder/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
pkg-config --print-errors --cflags --libs rooftop >flags
result $? "pkg-config knows it"
[ "$(pkg-config --modversion rooftop)" = "$("$ROOFTOP" version | sed -n '1s/^rooftop //p')" ]
result $? "pkg-config and the program name the same version"

example=$SOURCE_ROOT/docs/example.c
warnings='-Wall -Wextra -Werror -pedantic'
# build NAME LINK COMPILER…
# shellcheck disable=SC2046,SC2086 # lists of flags
build() {
    name=$1 link=$2
    shift 2
    expect_exit 0 "build $name" "$@" -o "$name" $warnings "$example" \
        $(pkg-config $link --cflags --libs rooftop | sed "$archive") $SANITIZE
}

run() {
    expect_exit 0 "$1 runs" env LD_LIBRARY_PATH="$folder" "./$1" \
        "sim:$SOURCE_ROOT/tests/data/one.sim@max" 1
    [ "$(wc -l <out)" -eq 10 ]
    result $? "$1 prints a line for each second"
    expect_text out '^[0-9.]+  GPU 0  compute 93 %  memory 18 %  compute-bound: ' \
        "$1 prints SOL and the verdict"
}

archive=''
build shared '' gcc -std=c99
run shared
if command -v g++ >/dev/null; then
    build cplusplus '' g++ -std=c++11 -x c++
    run cplusplus
else
    skip "as C++" "no g++ here"
fi
archive='s/-lrooftop/-l:librooftop.a/'
build static --static gcc -std=c99
run static
readelf -d static >needed && ! grep -q librooftop needed
result $? "the static one needs no librooftop.so"

expect_exit 1 "a source that does not open" env LD_LIBRARY_PATH="$folder" ./shared sim:/nowhere
expect_text err '/nowhere' "the example says why"

finish
