. "${SOURCE_ROOT:=$PWD}/tests/lib.sh"

# The layers, lowest first. A folder includes itself and lower lines, nothing on its own line.
cat >layers <<'END'
base
metric
record
counter
sol
store
view
calibrate jobs
monitor
api share
bench
tui serve pool
cmd
END

# Every include in quotes: FILE INCLUDED LINE
(cd "$SOURCE_ROOT/src" && find . -name '*.[ch]' | sed 's,^\./,,' | sort | xargs grep -nH '^ *# *include *"') |
    sed 's/^\([^:]*\):\([0-9]*\): *# *include *"\([^"]*\)".*/\1 \3 \2/' >includes

[ "$(wc -l <includes)" -gt 20 ]
result $? "there are includes to read"

awk 'FNR == NR { for (i = 1; i <= NF; i++) rank[$i] = FNR; next }
    {
        from = $1; sub(/\/.*/, "", from)
        to = $2; sub(/\/.*/, "", to)
        if (!(from in rank))
            print "src/" $1 ": the folder " from " is in no layer"
        else if ($2 !~ /\//)
            { if ($2 != "version.h" && $2 != "rooftop.h") print "src/" $1 ":" $3 ": \"" $2 "\" has no folder" }
        else if (!(to in rank))
            print "src/" $1 ":" $3 ": the folder of \"" $2 "\" is in no layer"
        else if (to != from && rank[to] >= rank[from])
            print "src/" $1 ":" $3 ": " from " is not above " to
    }' layers includes >upward
[ ! -s upward ]
result $? "no folder includes one above it or beside it"
sed 's/^/# /' upward

# .def files are included for their rows and include nothing; headers must not form a ring.
cut -d ' ' -f 1,2 includes | tsort >/dev/null 2>rings
result $? "no ring of includes"
sed 's/^/# /' rings

awk '!($1 in first) { first[$1] = $2 }
    END { for (file in first) print file, first[file] }' includes | sort |
    while read -r file first; do
        own=${file%.c}.h
        if [ "$own" != "$file" ] && [ -f "$SOURCE_ROOT/src/$own" ] && [ "$first" != "$own" ]; then
            echo "src/$file includes $first before its own header"
        fi
    done >late
[ ! -s late ]
result $? "each file includes its own header first"
sed 's/^/# /' late

finish
