# rooftop report and roi on a result whose every figure can be worked out by hand.
. "$SOURCE_ROOT/tests/lib.sh"

golden=$SOURCE_ROOT/tests/golden
check=$BUILD_ROOT/tests/tools/jsoncheck
sqlite3 two.bench <"$SOURCE_ROOT/tests/data/bench.sql"

expect_exit 0 'text' "$ROOFTOP" report two.bench
LC_ALL=C.UTF-8 grep -E '^.{81}' out
[ $? -eq 1 ]
result $? 'it fits into 80 columns'
cp out text
tr '\n' ' ' <text >out
# 2 jobs in 20 s against 2 in 50 s on average; 2400 ÷ 5000 J.
expect_text out ' Share the GPU \(MPS, equal limits\): 2.50 times the jobs per hour of one after the other, with 52 % less energy per job' 'the decision'
# a 12.5 ÷ 10, b 20 ÷ 40: mean 0.875.
expect_text out 'takes 0.88 times as long as alone on average, the one that loses most 1.25 times' 'and what it costs'
cp text out
expect_text out '^throughput  MPS, equal limits: 360$' 'the winner of throughput: 2 ÷ 20 s'
expect_text out '^time-slicing, repeat 3: b: failed, exit code 7: out of <memory>$' 'a failed job with its last words'
expect_same out "$golden/bench-report.txt" 'the whole text'

expect_exit 0 'JSON' "$ROOFTOP" report -f json two.bench
"$check" decision.advice decision.mode winners.energy modes.# modes.1.failed_jobs trials trials_planned \
    decision.jobs_per_hour_ratio decision.energy_per_job_ratio <out >values
expect_text values '^"share" "mps-equal" "mps-equal" 3 1 9 9 2.5[0-9]* 0.48$' 'its decision'
"$check" modes.2.makespan_seconds.mean modes.2.energy_per_job_joules.mean modes.2.jobs.1.slowdown.mean \
    modes.2.fairness.mean modes.0.power_watts.mean <out >values
# Fairness: progress of a 10 ÷ 12.5 = 0.8, of b 40 ÷ 20 = 2 (19.6, 20, 20.4 s: mean of 0.8·T ÷ 40 is 0.4).
expect_text values '^20 1200 0.5 0.4 100$' 'its measures'

expect_exit 0 'options on both sides' "$ROOFTOP" report -f csv two.bench --pue 1
expect_text out '^mode,repeat,job,measure,value$' 'are all read'
expect_exit 2 'two results' "$ROOFTOP" report two.bench -f csv two.bench
expect_text err 'name one result of rooftop bench' 'are refused'
expect_exit 0 'CSV' "$ROOFTOP" report -f csv two.bench
expect_text out '^mps-equal,2,,jobs_per_hour,360$' 'a measure of a trial'
expect_text out '^time-slicing,3,b,outcome,failed$' 'and how a job ended'

expect_exit 0 'HTML' "$ROOFTOP" report -f html two.bench
expect_text out '<h1>Two &lt;jobs&gt; &amp; more</h1>' 'the title is escaped'
expect_text out 'out of &lt;memory&gt;' "and a job's words"
! grep -Eq '(src|href)=|https?:' out
result $? 'the page needs nothing else'
expect_text out '2.50 ×' 'the headline'
# 360 ± 17.9 by 144 ± 7.2: 2.5 · (1 ± √(0.0497² + 0.0497²))
expect_text out 'jobs per hour; 95 %: 2.32 to 2.68' 'with its interval'
expect_text out '<li>a pays most: once begun, it takes 1.25 times' 'what to think of before'
expect_text out 'prefers-color-scheme:dark.*@media print.*size:A4' 'light, dark and on paper'

prices='--gpu-hours 1000 --gpu-hour-cost 2 --power-cost 0.5 --adoption-cost 600 --operations-cost 120'
# shellcheck disable=SC2086
expect_exit 0 'the return' "$ROOFTOP" roi $prices --currency EUR two.bench
LC_ALL=C.UTF-8 grep -E '^.{81}' out
[ $? -eq 1 ]
result $? 'fits into 80 columns too'
# 1000 · (1 − 1/2.5) = 600 hours; kWh: (1000 · 100 − 400 · 120 − 600 · 80 or 0) ÷ 1000 = 4 and 52.
expect_text out 'freed   = H · \(1 − 1/Θ\) = 1000 · \(1 − 1/2.500\) = 600.0 GPU hours a year' 'hours'
expect_text out '= 4.0 kWh a year' 'energy where freed hours are idle'
expect_text out '= 52.0 kWh a year' 'and where they are used'
expect_text out '= 0.00 \+ 2.00 = 2.00 EUR a year' 'benefit unused'
expect_text out '= 1,200.00 \+ 26.00 = 1,226.00 EUR a year' 'benefit used'
expect_text out 'C       = adoption \+ operations · years = 720.00 EUR' 'cost'
# (1226 − 720) ÷ 720 and (2 − 720) ÷ 720
expect_text out 'ROI .* = 70 %' 'return used'
expect_text out 'ROI .* = −100 %' 'return unused'
# 600 ÷ ((1226 − 120) ÷ 12)
expect_text out 'payback .* = 6.5 months' 'payback'
# (720 − 2) ÷ 1224
expect_text out 'It pays from 59 % of the freed hours used' 'from where on it pays'
# shellcheck disable=SC2086
expect_exit 0 'as JSON' "$ROOFTOP" roi -f json $prices two.bench
"$check" theta cases.1.benefit cases.1.payback_months sensitivity.2.input <out >values
expect_text values '^2.5 1226 6.50994575 "cost of a GPU hour"$' 'the same figures'
# shellcheck disable=SC2086
expect_exit 0 'on the page' "$ROOFTOP" report -f html $prices two.bench
expect_text out 'MPS, equal limits: It pays from 59 %' 'the return is there too'
expect_text out 'Given: 1000 GPU hours a year today, at 2.00 each; 0.50 a kWh, PUE 1; 600.00 to introduce it' 'with each price'
# shellcheck disable=SC2086
expect_exit 0 'in the JSON of the report' "$ROOFTOP" report -f json $prices two.bench
"$check" roi.theta roi.sentence <out >values
expect_text values '^2.5 "It pays from 59 % of the freed hours used."$' 'too'

# Time-slicing: 149 ÷ 144 jobs an hour, and not advised. Nothing to pay, and 8000 · 32.7 W more: a loss unused.
free='--gpu-hours 8000 --gpu-hour-cost 2 --adoption-cost 0 --operations-cost 0'
# shellcheck disable=SC2086
expect_exit 0 'a mode that is not advised' "$ROOFTOP" roi $free --power-cost 0.085 --idle-power 200 --mode time-slicing two.bench
expect_text out 'does not advise this mode' 'is told so'
expect_text out 'tariff = 0.085 a kWh' 'a price is stated to its last digit'
expect_text out '= −[0-9.]+ kWh a year' 'more energy'
expect_text out 'ROI .* = a loss$' 'is a loss where nothing is to be paid'
cp two.bench slow.bench
sqlite3 slow.bench "UPDATE run SET end = 80 WHERE trial IN (2, 4) AND instance = 1"
# shellcheck disable=SC2086
expect_exit 0 'a mode that is slower' "$ROOFTOP" roi $free --power-cost 0 --mode time-slicing slow.bench
expect_text out '^It frees no GPU hours' 'does not pay'
! grep -q 'It pays' out
result $? 'whatever is used'
cp two.bench wild.bench
sqlite3 wild.bench "UPDATE run SET end = end * 10 WHERE trial = 3"
# shellcheck disable=SC2086
expect_exit 0 'a throughput that the repeats leave open' "$ROOFTOP" roi $prices --mode mps-equal wild.bench
expect_text out 'Θ = .*\(95 %: 0.000 to ' 'down to nothing'
expect_text out '^  throughput ratio              0: a loss ' 'is varied over all of its interval'
# shellcheck disable=SC2086
"$ROOFTOP" roi -f json $prices --mode mps-equal wild.bench >out
"$check" sensitivity.0.low sensitivity.0.roi_ratio_low <out >values
expect_text values '^0 null$' 'in the JSON too'
# shellcheck disable=SC2086
expect_exit 2 'an idle power below 0' "$ROOFTOP" roi $free --power-cost 0 --idle-power -5 two.bench
# shellcheck disable=SC2086
expect_exit 2 'a price beyond reason' "$ROOFTOP" roi $free --power-cost 1e300 two.bench

sqlite3 slow.bench "UPDATE run SET outcome = 'timeout' WHERE trial = 2 AND instance = 1"
"$ROOFTOP" report -f html slow.bench >out
expect_text out '>timeout</text>' 'the time line tells a job that failed by a word, not by colour alone'

page=$SOURCE_ROOT/man/rooftop-report.1.scd
sed -n 's/^MEASURE([^"]*"[^"]*", "\([^"]*\)".*/\1/p' "$SOURCE_ROOT/src/bench/measure.def" |
    while read -r title; do grep -qF "*$title*" "$page" || echo "$title"; done >out
[ ! -s out ] && [ "$(grep -c '^MEASURE(' "$SOURCE_ROOT/src/bench/measure.def")" -gt 10 ]
result $? 'the man page defines each measure'

expect_exit 2 'a price that is missing' "$ROOFTOP" roi --gpu-hours 1000 two.bench
expect_text err 'give --gpu-hour-cost: there are no hidden prices' 'is asked for'
expect_exit 2 'a mode to compare, without prices' "$ROOFTOP" report --mode mps-equal two.bench
expect_text err 'there are no hidden prices' 'is not passed over'
# shellcheck disable=SC2086
expect_exit 2 'a mode that is none' "$ROOFTOP" roi $prices --mode fast two.bench
# shellcheck disable=SC2086
expect_exit 1 'a mode that did not run' "$ROOFTOP" roi $prices --mode mig two.bench
expect_text err 'no trial of mig without a failed job' 'is named'
sqlite3 wild.bench "UPDATE run SET outcome = 'failed' WHERE trial IN (SELECT id FROM trial WHERE mode <> 'exclusive')"
# shellcheck disable=SC2086
expect_exit 1 'no mode that went well beside exclusive' "$ROOFTOP" roi $prices wild.bench
expect_text err 'no trial of sharing without a failed job' 'is told as that'
sqlite3 wild.bench "UPDATE run SET outcome = 'failed'; UPDATE run SET outcome = 'ended' WHERE trial IN (3, 5, 7)"
# shellcheck disable=SC2086
expect_exit 1 'nothing to compare with' "$ROOFTOP" roi $prices wild.bench
expect_text err 'no trial of exclusive without a failed job' 'is told as that'
expect_exit 2 'no file' "$ROOFTOP" report none.bench
expect_exit 2 'a recording' "$ROOFTOP" report "$SOURCE_ROOT/data/h200.roof"
expect_text err 'this is no result of rooftop bench' 'is refused'
sqlite3 two.bench "UPDATE run SET outcome = 'strange' WHERE trial = 1"
expect_exit 2 'a result that makes no sense' "$ROOFTOP" report two.bench
sqlite3 two.bench "DELETE FROM run; DELETE FROM trial"
expect_exit 0 'a result without trials' "$ROOFTOP" report two.bench
expect_text out '^The trials do not tell' 'says that it does not tell'
expect_exit 0 'nor does the page' "$ROOFTOP" report -f html two.bench
finish
