#!/bin/sh
# The tables of docs/results/bench-h200.md from the results that are checked in, or with `readme` the rows of README.md.
set -eu
cd "$(dirname "$0")/../../docs/results"

ask() {
    sqlite3 -separator ' ' :memory: "CREATE TABLE page AS SELECT readfile('$set.json') AS text;
        CREATE VIEW mode AS SELECT key, value AS m FROM page, json_each(text, '\$.modes');
        ATTACH 'file:$set.bench?mode=ro' AS result; $1"
}
# A mean and half its interval: figure KEY DIGITS FACTOR. SQLite 3.45 cuts off what %.0f should round.
figure() {
    echo "ifnull(printf('%.$2f ± %.$2f', round($3 * json_extract(m, '\$.$1.mean'), $2),
        round($3 * json_extract(m, '\$.$1.interval'), $2)), '-')"
}
title="substr(json_extract(text, '\$.jobs'), instr(json_extract(text, '\$.jobs'), 'title = ') + 8)"
title="substr($title, 1, instr($title, char(10)) - 1)"

trials="json_extract(text, '\$.trials') || ' of ' || json_extract(text, '\$.trials_planned') || ' trials'"
energy="json_extract(text, '\$.decision.energy_per_job_ratio')"

if [ "${1:-}" = readme ]; then
    for set in trainings products mix streams large; do
        [ -f $set.json ] || continue
        ask "SELECT printf('| %s: one GPU shared, against one after the other | %s | [docs/results/bench-h200.md](docs/results/bench-h200.md), \`tests/device/bench.py\` |',
            $title, CASE json_extract(text, '\$.decision.advice') WHEN 'share' THEN printf('%.2f times the jobs per hour%s (%s)',
                json_extract(text, '\$.decision.jobs_per_hour_ratio'),
                ifnull(printf(', %d %% %s energy per job', round(100 * abs(1 - $energy)), CASE WHEN $energy > 1 THEN 'more' ELSE 'less' END), ''),
                json_extract(text, '\$.decision.mode')) WHEN 'do_not_share' THEN 'do not share' ELSE 'the trials do not tell' END) FROM page"
    done
    exit
fi

for set in trainings products mix streams large; do
    [ -f $set.json ] || continue
    echo
    ask "SELECT '### ' || $title || char(10, 10) || json_extract(text, '\$.decision.sentence') || char(10, 10)
        || '[$set.html]($set.html), [$set.json]($set.json), [$set.bench]($set.bench): ' || $trials || char(10) FROM page"
    echo '| mode | all jobs, s | jobs per hour | STP | mean slow-down | worst | energy per job, J | power, W | Compute SOL, % | Memory SOL, % | nvidia-smi, % | memory, GiB |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
    ask "SELECT '| ' || json_extract(m, '\$.mode')
        || ' | ' || $(figure makespan_seconds 2 1) || ' | ' || $(figure jobs_per_hour 0 1)
        || ' | ' || $(figure stp 2 1) || ' | ' || $(figure antt 2 1) || ' | ' || $(figure worst_slowdown 2 1)
        || ' | ' || $(figure energy_per_job_joules 0 1) || ' | ' || $(figure power_watts 0 1)
        || ' | ' || $(figure compute_sol_ratio 1 100) || ' | ' || $(figure memory_sol_ratio 1 100)
        || ' | ' || $(figure nvml_utilization_ratio 0 100)
        || ' | ' || ifnull(printf('%.2f', json_extract(m, '\$.memory_peak_bytes.mean') / 1073741824.0), '-') || ' |' FROM mode ORDER BY key"
done

# Half the width of the 95 % interval of a difference from exclusive: with two degrees of freedom t is 4.303, with three
# 3.182, with four 2.776.
echo
echo '### Welch or paired'
echo
echo 'Time for all jobs one after the other less that of the mode, in seconds, with its 95 % interval by either test:'
echo
echo '| | mode | difference | Welch | paired by repeat |'
echo '|---|---|---|---|---|'
for set in trainings products mix streams large; do
    [ -f $set.json ] || continue
    ask "WITH time AS (SELECT mode, repeat, max(end) AS x FROM run JOIN trial ON id = trial GROUP BY id HAVING sum(outcome != 'ended') = 0),
        pair AS (SELECT b.mode, a.x - b.x AS d, a.x AS a, b.x AS b FROM time a JOIN time b USING (repeat)
                 WHERE a.mode = 'exclusive' AND b.mode != 'exclusive'),
        mean AS (SELECT mode, count(*) AS n, avg(d) AS d, avg(a) AS a, avg(b) AS b FROM pair GROUP BY mode),
        spread AS (SELECT mode, n, mean.d, sum((pair.d - mean.d) * (pair.d - mean.d)) / (n - 1) / n AS vd,
                          sum((pair.a - mean.a) * (pair.a - mean.a)) / (n - 1) / n AS va,
                          sum((pair.b - mean.b) * (pair.b - mean.b)) / (n - 1) / n AS vb FROM pair JOIN mean USING (mode) GROUP BY mode)
        SELECT printf('| %s | %s | %.2f | ± %.2f | ± %.2f |', '$set', mode, d,
            CASE CAST((va + vb) * (va + vb) * (n - 1) / (va * va + vb * vb) AS INTEGER) WHEN 2 THEN 4.303 WHEN 3 THEN 3.182 ELSE 2.776 END
                * sqrt(va + vb), 4.303 * sqrt(vd))
        FROM spread JOIN (SELECT mode, min(id) AS place FROM trial GROUP BY mode) USING (mode) WHERE n = 3 ORDER BY place"
done

[ -f colocation.csv ] || exit 0
echo
echo '### Two kinds of jobs beside each other'
echo
echo 'Slow-down of the job in the row beside that in the column, from [colocation.csv](colocation.csv):'
for mode in mps time-slicing; do
    echo
    echo "| $mode | mlp | gemm | mem | big |"
    echo '|---|---|---|---|---|'
    sqlite3 -cmd '.import --csv colocation.csv line' :memory: "
        WITH kind(name, place) AS (VALUES ('mlp', 1), ('gemm', 2), ('mem', 3), ('big', 4)),
        seen AS (SELECT *, CASE WHEN instr(job, '.') THEN substr(job, 1, instr(job, '.') - 1) ELSE job END AS own FROM line
                 WHERE mode = '$mode' AND slowdown != '' AND length(jobs) - length(replace(jobs, '+', '')) = 1),
        cell AS (SELECT a.place, a.name AS own, b.place AS at,
                    (SELECT printf('%.2f', avg(slowdown)) FROM seen WHERE seen.own = a.name
                     AND jobs IN (a.name || '+' || b.name, b.name || '+' || a.name)) AS text
                 FROM kind a, kind b ORDER BY a.place, b.place)
        SELECT '| ' || own || ' | ' || group_concat(ifnull(text, '-'), ' | ') || ' |' FROM cell GROUP BY own ORDER BY place"
done
