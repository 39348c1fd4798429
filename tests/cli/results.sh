# The results of rooftop bench that are checked in: they open where there is no GPU, and the documents say what they say.
# tests/tools/ship_bench.sh makes them.
. "$SOURCE_ROOT/tests/lib.sh"

export ROOFTOP_NVML=/not/there TZ=UTC
results=$SOURCE_ROOT/docs/results
tables=$SOURCE_ROOT/tests/tools/bench_tables.sh

for result in "$results"/*.bench; do
    stem=$(basename "$result" .bench)
    expect_exit 0 "$stem opens" "$ROOFTOP" report "$result"
    expect_text out '^(Share the GPU|Do not (share|decide))' 'and says whether to share'
    ! LC_ALL=C.UTF-8 grep -Eq '^.{81}' out
    result $? 'in 80 columns'
    for form in json html; do
        "$ROOFTOP" report --format $form "$result" >out
        expect_same out "$results/$stem.$form" "$stem.$form is what it says"
    done
done
[ "$stem" ] && [ -f "$results/products.bench" ]
result $? 'there are some'

sed -n 's/^| `\([a-z_]*\)` |.*/\1/p' "$results/colocation.md" | paste -sd , >described
sed -n 's/^COLUMNS = \[//; T; :more; N; s/\]$//; T more; s/[" \n]//g; p' "$SOURCE_ROOT/tests/device/bench.py" >columns
[ -s columns ] && expect_same described columns 'colocation.md describes each column of colocation.csv'

sed '1,/^## Figures$/d' "$results/bench-h200.md" >documented
"$tables" >made
expect_same made documented 'the tables of bench-h200.md are what the results say'
grep 'docs/results/bench-h200.md), `tests/device/bench.py` |$' "$SOURCE_ROOT/README.md" >documented
"$tables" readme >made
expect_same made documented 'so are the rows of README.md'

awk '/^\$ rooftop roi / { inside = 1 } /^```$/ { inside = 0 } inside' "$SOURCE_ROOT/docs/PILOT.md" >documented
sed -n '1,/[^\\]$/s/^\$ rooftop//p; 2s/^    / /p' documented | tr -d '\\\n' >words
# shellcheck disable=SC2046
(cd "$SOURCE_ROOT" && "$ROOFTOP" $(cat "$OLDPWD/words")) >out
sed '1,/[^\\]$/d' documented >expected
expect_same out expected 'the return that PILOT.md shows is that of products.bench'
finish
