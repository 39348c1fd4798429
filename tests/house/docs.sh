. "$SOURCE_ROOT/tests/lib.sh"

cd "$SOURCE_ROOT" || exit 99
for page in *.md docs/*.md; do
    grep -o ']([^)#: ]*)' "$page" | sed 's/^](\(.*\))$/\1/' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$page: $link does not exist"
    done
done >"$scratch/broken"
[ ! -s "$scratch/broken" ]
result $? "every link from one document to another leads somewhere"
sed 's/^/# /' "$scratch/broken"

for page in *.md docs/*.md man/*.scd; do
    grep -oE '\b(docs/[A-Z-]+\.md|tests/[a-z]+/[a-z0-9_*.]+|src/[a-z]+/[a-z0-9_.*/]+\.[a-z]+)' "$page" | sort -u |
        while read -r path; do
            # shellcheck disable=SC2086 # a pattern may be meant
            ls -d $path >/dev/null 2>&1 || echo "$page: $path does not exist"
        done
done >"$scratch/broken"
[ ! -s "$scratch/broken" ]
result $? "every file that a document names exists"
sed 's/^/# /' "$scratch/broken"

# Commands: `./dev WORD`, and `rooftop WORD` where it begins a quotation or a line of an example.
for page in *.md docs/*.md man/*.scd; do
    grep -oE '\./dev [a-z]+' "$page" | sort -u | while read -r _ command; do
        grep -q "^cmd_$command()" dev || echo "$page: ./dev $command does not exist"
    done
    grep -oE '(`|^    |\*)rooftop [a-z]+' "$page" | sort -u | while read -r _ command; do
        [ -e "src/cmd/cmd_$command.c" ] || [ "$command" = help ] || echo "$page: rooftop $command does not exist"
    done
done >"$scratch/broken"
[ ! -s "$scratch/broken" ]
result $? "every command that a document names exists"
sed 's/^/# /' "$scratch/broken"

# The tests that docs/FIELD-FAILURES.md names: "`test_X` name, name; `folder/file`".
sed -n 's/^|[^|]*| \(.*\) |$/\1/p' docs/FIELD-FAILURES.md | tr ';' '\n' | while read -r part; do
    for file in $(echo "$part" | grep -o '`[a-z_]*/[a-z_.]*`' | tr -d '`'); do
        [ -e "tests/$file" ] || [ -e "$file" ] || echo "$file does not exist"
    done
    unit=$(echo "$part" | sed -n 's/^ *`\(test_[a-z_]*\)`.*/\1/p')
    [ -n "$unit" ] || continue
    for name in $(echo "${part#*\` }" | grep -o '[a-z_0-9]*_[a-z_0-9]*'); do
        grep -q "^static void $name(" "tests/unit/$unit.c" || echo "tests/unit/$unit.c has no $name"
    done
done >"$scratch/untested"
[ ! -s "$scratch/untested" ]
result $? "docs/FIELD-FAILURES.md names tests that there are"
sed 's/^/# /' "$scratch/untested"

for page in docs/*.md; do
    grep -q "]($page)" README.md || echo "README.md does not lead to $page"
done >"$scratch/unlinked"
[ ! -s "$scratch/unlinked" ]
result $? "README.md leads to every document"
sed 's/^/# /' "$scratch/unlinked"

for folder in src/*/ tests/*/; do
    folder=${folder%/}
    name=${folder#src/}
    grep -q "^| \`$name\` |" docs/ARCHITECTURE.md || echo "docs/ARCHITECTURE.md says nothing of $folder"
done >"$scratch/unnamed"
[ ! -s "$scratch/unnamed" ]
result $? "docs/ARCHITECTURE.md names every folder of src and tests"
sed 's/^/# /' "$scratch/unnamed"

finish
