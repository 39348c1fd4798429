. "$SOURCE_ROOT/tests/lib.sh"

# The first line of each file of docs/screens is the command that made the rest. With
# ROOFTOP_GOLDEN=write they are made anew, and README.md with them.
export TZ=UTC LC_ALL=C.UTF-8 XDG_CONFIG_HOME="$scratch"
unset ROOFTOP_SOURCE
rooftop() {
    "$ROOFTOP" "$@"
}
for file in "$SOURCE_ROOT"/docs/screens/*.txt; do
    name=$(basename "$file" .txt)
    {
        sed 1q "$file"
        (cd "$SOURCE_ROOT" && eval "$(sed -n '1s/^\$ //p' "$file")")
    } >made
    expect_same made "$file" "docs/screens/$name.txt is what its command prints"
done

# README.md with the files in place of its blocks that begin with such a command.
awk '
    FILENAME != ARGV[ARGC - 1] {
        if (FNR == 1) first = $0
        text[first] = text[first] $0 "\n"
        next
    }
    /^\$ rooftop / && $0 in text { printf "%s", text[$0]; shown[$0] = 1; skip = 1 }
    /^```$/ { skip = 0 }
    !skip
    END { for (name in shown) count++; exit count != 4 }
' "$SOURCE_ROOT"/docs/screens/*.txt "$SOURCE_ROOT/README.md" >README.md
result $? "README.md shows four screens of docs/screens"
expect_same README.md "$SOURCE_ROOT/README.md" "and shows them as they are there"

finish
