# CC=… archive.sh OUTPUT THIS ARCHIVE…: one object out of all archives, with its hidden symbols made
# local, in an archive.
set -eu
output=$1
shift 2
object=$output.o
# By the compiler: it knows what is to be done with objects that are not yet machine code (LTO).
# shellcheck disable=SC2086 # a list of words
$CC -r -nostdlib -o "$object" -Wl,--whole-archive "$@"
${OBJCOPY:-objcopy} --localize-hidden "$object"
rm -f "$output"
${AR:-ar} rcs "$output" "$object"
rm -f "$object"
