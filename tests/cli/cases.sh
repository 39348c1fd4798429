# Every command that docs/CASES.md shows prints what stands below it.
. "$SOURCE_ROOT/tests/lib.sh"
export TZ=UTC LC_ALL=C.UTF-8 HOME="$scratch" XDG_DATA_HOME="$scratch" XDG_CONFIG_HOME="$scratch" ROOFTOP
unset ROOFTOP_SOURCE

page=$SOURCE_ROOT/docs/CASES.md
(cd "$SOURCE_ROOT" && awk '
    /^```/ { inside = !inside; shown = 0; print; next }
    inside && sub(/^\$ rooftop /, "") {
        print "$ rooftop " $0
        fflush()
        system("\"$ROOFTOP\" " $0)
        shown = 1
        next
    }
    !(inside && shown)' docs/CASES.md) >page
expect_same page "$page" "docs/CASES.md shows what its commands print"
[ "$(grep -c '^\$ rooftop ' "$page")" -ge 13 ]
result $? "and shows each of the three cases"
finish
