# The mode mps-limits of rooftop bench, with limits from profiles.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

stage 1
export ROOFTOP_PROFILES="$PWD/profiles.db"
"$fake_job" start
cat >profiled.ini <<END
[bench]
modes = mps-limits
repeats = 2
settle = 1ms
[one]
command = $fake_job sm
count = 2
[two]
command = $fake_job sm >>two.seen
profile = of_two
[three]
command = $fake_job sm alloc 1G seen 4
sm = 30%
END
expect_exit 0 'a dry run without profiles' "$ROOFTOP" bench -n profiled.ini
expect_text out '^  mps-limits: left out: \[one\] has no sm = … and no profile; run .rooftop profile --scaling --name one -- COMMAND' 'says what to run'
expect_exit 0 'a bench without profiles' "$ROOFTOP" bench profiled.ini
expect_text err '^mps-limits: \[one\] has no sm' 'leaves the mode out'
expect_exit 0 'a profile' "$ROOFTOP" profile --name one --scaling -- "$fake_job" alloc 1G seen 4
"$ROOFTOP" profile --name of_two -- "$fake_job" seen 4 2>/dev/null
"$ROOFTOP" profile -- "$fake_job" sm alloc 1G seen 4 >/dev/null 2>&1
# Known figures: 95 % of the speed at 35 % of the SMs; 58 % of the SMs. Then 2 · 35 + 58 into 70.
sqlite3 "$ROOFTOP_PROFILES" "UPDATE profile SET span_seconds = 9.5 WHERE key = 'one';
    UPDATE profile_scaling SET span_seconds = CASE sm_percent WHEN 25 THEN 9.5 / 0.9 ELSE 9.5 / 1.025 END WHERE key = 'one';
    UPDATE profile_metric SET p95 = 0.58 WHERE key = 'of_two' AND metric LIKE '%coverage%'"
expect_exit 0 'a dry run with profiles' "$ROOFTOP" bench -n profiled.ini
expect_text out '^    in mps-limits: 19 % of the SMs \(profile one: keeps 95 % of its speed; 35 %, shrunk so that all fit\), 2 GiB \(profile one: its peak and a fifth\)$' 'the scaling curve and the peak, shrunk'
expect_text out '^    in mps-limits: 31 % of the SMs \(profile of_two: SMs that it uses, 95th percentile; 58 %' 'the SMs in use'
expect_text out '^    in mps-limits: 30 % of the SMs, 2 GiB \(profile [0-9a-f]{16}: its peak' 'what JOBS.ini names stays; the rest is found by the command'
expect_exit 0 'the mode' "$ROOFTOP" bench profiled.ini
sort -u two.seen >out
# 31 % of 132 SMs, in whole pairs.
echo 'sm 40' >expected
expect_same out expected 'runs with those limits'
sqlite3 profiled.bench "DELETE FROM trial WHERE repeat = 1"
sqlite3 "$ROOFTOP_PROFILES" "UPDATE profile_metric SET p95 = 0.2 WHERE key = 'of_two'"
expect_exit 2 'a profile that has changed since' "$ROOFTOP" bench profiled.ini
expect_text err 'profiled.bench: it is of other limits' 'is refused'
"$ROOFTOP" report profiled.bench >out
expect_text out 'two: 31 % of the SMs \(profile of_two' 'the report says whence the limits are'
finish
