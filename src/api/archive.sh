# archive.sh OUTPUT THIS ARCHIVE…: one object out of all archives, with its hidden symbols made
# local, in an archive.
set -eu
output=$1
shift 2
object=$output.o
${LD:-ld} -r -o "$object" --whole-archive "$@"
${OBJCOPY:-objcopy} --localize-hidden "$object"
rm -f "$output"
${AR:-ar} rcs "$output" "$object"
rm -f "$object"
