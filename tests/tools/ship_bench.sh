#!/bin/sh
# Puts what tests/device/bench.py found into docs/results: of each set, with two trials of each mode or more, the
# result, its page and its JSON; the tables of docs/results/bench-h200.md; colocation.csv and the profiles of its jobs;
# and the rows of README.md.
#
# usage: ship_bench.sh FOLDER
#
# FOLDER holds bench.tar.gz, or what was in it, and colocation.csv. ROOFTOP names the program (build/src/rooftop).
# What docs say of the figures in words is for a person; `meson test -C build results` compares the tables.
set -eu
if [ ! -d "${1:-}" ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
export TZ=UTC # of the day on the page
rooftop=${ROOFTOP:-build/src/rooftop}
results=docs/results
page=$results/bench-h200.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ ! -f "$folder/bench.tar.gz" ] || tar -xzf "$folder/bench.tar.gz" -C "$scratch"
cp "$folder"/*.bench "$folder/colocation.csv" "$scratch" 2>/dev/null || :

for set in trainings products mix streams large; do
    [ -f "$scratch/$set.bench" ] || continue
    "$rooftop" report --format json "$scratch/$set.bench" >"$scratch/$set.json"
    least=$(sqlite3 :memory: "SELECT ifnull(min(json_extract(value, '\$.trials')), 0)
        FROM json_each(readfile('$scratch/$set.json'), '\$.modes')")
    if [ "$least" -lt 2 ]; then
        echo "$set: left out: a mode has fewer than two trials" >&2
        continue
    fi
    rm -f "$results/$set.bench"
    sqlite3 "$scratch/$set.bench" "VACUUM INTO '$results/$set.bench'"
    "$rooftop" report --format json "$results/$set.bench" >"$results/$set.json"
    "$rooftop" report --format html "$results/$set.bench" >"$results/$set.html"
done
[ ! -f "$scratch/colocation.csv" ] || cp "$scratch/colocation.csv" $results/
[ ! -f "$scratch/profiles.json" ] || cp "$scratch/profiles.json" $results/colocation-profiles.json

sed '/^## Figures$/q' $page >"$scratch/page"
tests/tools/bench_tables.sh >>"$scratch/page"
cp "$scratch/page" $page

tests/tools/bench_tables.sh readme >"$scratch/rows"
awk -v rows="$scratch/rows" '
    function put() { while ((getline line < rows) > 0) print line; done = 1 }
    /docs\/results\/bench-h200\.md\), `tests\/device\/bench\.py` \|$/ { if (!done) put(); next }
    table && !/^\|/ && !done { put() }
    { table = /^\|/; print }' README.md >"$scratch/readme"
cp "$scratch/readme" README.md
git --no-pager diff --stat -- docs README.md || :
