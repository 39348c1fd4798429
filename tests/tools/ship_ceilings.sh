#!/bin/sh
# Makes a chip's rows of src/store/ceiling_shipped.def and the tables of docs/results/calibrate-h200.md anew
# from the folder that tests/device/ceilings.py left.
#
# usage: ship_ceilings.sh FOLDER [KEPT…]
#
# KEPT names ceilings whose old row stays, such as tensor_bf16. What follows from the ceilings comes anew with
#   ROOFTOP_GOLDEN=write meson test -C build attainable cases screens served sol stat tui_top tui_moving
# What docs say of them in words (ATTAINABLE.md, CASES.md, CEILINGS.md, calibrate-h200.md) is for a person.
set -eu
if [ ! -f "${1:-}/rooftop/ceilings.db" ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
rows=src/store/ceiling_shipped.def
page=docs/results/calibrate-h200.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ask() {
    sqlite3 -separator ' ' -cmd "ATTACH '$folder/rooftop/ceilings.db' AS store" :memory: \
        "CREATE TABLE verify AS SELECT readfile('$folder/verify.json') AS text; $1"
}
chip=$(ask "SELECT replace(json_extract(text, '\$.name'), 'NVIDIA ', '') FROM verify")
[ -n "$chip" ] || {
    echo "ship_ceilings.sh: $folder/verify.json does not name the GPU" >&2
    exit 1
}

# Of each ceiling the median run. L2's counter is CUPTI's, which only --verify has; the clock is NVML's, which
# is wrong where the tensor cores slow the chip down.
median="WITH ranked AS (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY value) AS place,
                               count(*) OVER (PARTITION BY kind) AS runs,
                               (max(value) OVER (PARTITION BY kind) - min(value) OVER (PARTITION BY kind)) / value AS range
                        FROM store.ceiling),
             seen AS (SELECT json_extract(value, '\$.ceiling') AS kind, json_extract(value, '\$.counter_ratio') AS ratio
                      FROM verify, json_each(text, '\$.ceilings')),
             chosen AS (SELECT ranked.kind, value, range, runs, coalesce(ranked.ratio, seen.ratio) AS ratio,
                               CASE WHEN ranked.kind NOT LIKE 'tensor%' THEN clock END AS clock, temperature, power,
                               driver, how, spread
                        FROM ranked LEFT JOIN seen USING (kind) WHERE place = (runs + 1) / 2)"
ask "$median SELECT kind, printf('SHIPPED(\"$chip\", %s, %s, %s, %s, %s, %s, %s, \"measured on one $chip by calibrate: %s\")',
        upper(kind), replace(printf('%.4g', value), 'e+', 'e'), ifnull(printf('%.2g', nullif(range, 0)), 'NAN'),
        iif(ratio IS NULL, 'NAN', printf('%.3f', ratio)), iif(clock IS NULL, 'NAN', printf('%de6', round(clock / 1e6))),
        iif(temperature IS NULL, 'NAN', printf('%d', round(temperature))), iif(power IS NULL, 'NAN', printf('%d', round(power))), how)
    FROM chosen" >"$scratch/new"

# In place of the old rows, in their order; what is new comes last.
awk -v chip="\"$chip\"" -v kept=" $* " '
    NR == FNR { name = toupper($1); sub(/^[^ ]+ /, ""); row[name] = $0; order[++count] = name; next }
    /^SHIPPED/ {
        split($0, part, /[(,] */)
        if (part[2] == chip && part[3] in row) {
            if (!index(kept, " " tolower(part[3]) " ")) $0 = row[part[3]]
            delete row[part[3]]
        }
    }
    { print }
    END { for (i = 1; i <= count; i++) if (order[i] in row) print row[order[i]] }' "$scratch/new" $rows >"$scratch/rows"
diff $rows "$scratch/rows" || :
cp "$scratch/rows" $rows

{
    sed '/^## Ceilings/,$d' $page
    echo '## Ceilings'
    echo
    ask "$median SELECT 'The median of ' || max(runs) || ' runs with driver ' || max(driver) || '. *Spread* is of the repeats'
        || ' of that run, *of runs* is between the runs.' FROM chosen"
    echo
    echo '| ceiling | value | spread, % | of runs, % | counter, % | NVML clock, MHz | °C | W | how |'
    echo '|---|---|---|---|---|---|---|---|---|'
    # In the order of the table of ceilings.
    sed -n 's/^CEILING([^,]*, "\([^"]*\)".*/\1/p' src/store/ceiling.def | while read -r kind; do
        ask "$median SELECT printf('| %s | %s | %.1f | %.1f | %s | %d | %d | %d | %s |', kind,
            replace(printf('%.4g', value), 'e+', 'e'), 100 * spread, 100 * range,
            iif(ratio IS NULL, '', printf('%.1f', 100 * ratio)),
            round((SELECT clock FROM ranked WHERE ranked.kind = chosen.kind) / 1e6), round(temperature), round(power), how) FROM chosen WHERE kind = '$kind'"
    done
    echo
    echo '## The counters beside known work'
    echo
    echo '| work | counter | true | counted | error | samples | |'
    echo '|---|---|---|---|---|---|---|'
    ask "SELECT printf('| %s | %s | %s | %s | %s | %d | %s |', json_extract(value, '\$.ceiling'),
        json_extract(value, '\$.metric'), replace(printf('%.4g', json_extract(value, '\$.true')), 'e+', 'e'),
        replace(printf('%.4g', json_extract(value, '\$.counted')), 'e+', 'e'),
        iif(json_extract(value, '\$.error_points') IS NULL, printf('%+.2f %%', json_extract(value, '\$.error_percent')),
            printf('%+.2f pt', json_extract(value, '\$.error_points'))),
        json_extract(value, '\$.samples'), ifnull(json_extract(value, '\$.note'), ''))
        FROM verify, json_each(text, '\$.errors') WHERE json_extract(value, '\$.counted') IS NOT NULL"
} >"$scratch/page"
cp "$scratch/page" $page
