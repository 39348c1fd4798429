. "$SOURCE_ROOT/tests/lib.sh"

# The first line of each file of docs/screens is the command that made the rest.
export TZ=UTC LC_ALL=C.UTF-8 XDG_CONFIG_HOME="$scratch"
unset ROOFTOP_SOURCE
for file in "$SOURCE_ROOT"/docs/screens/*.txt; do
    name=$(basename "$file" .txt)
    sed -n '1s/^\$ rooftop //p' "$file" >command
    {
        sed 1q "$file"
        # shellcheck disable=SC2046 # a list of words
        (cd "$SOURCE_ROOT" && "$ROOFTOP" $(cat "$scratch/command"))
    } >made
    expect_same made "$file" "docs/screens/$name.txt is what its command prints"
done

for name in decode prefill pcie-copies idle; do
    grep . "$SOURCE_ROOT/docs/screens/$name.txt" >screen
    grep -Fxv -f "$SOURCE_ROOT/README.md" screen >missing
    expect_same missing /dev/null "README.md shows docs/screens/$name.txt"
done

finish
