. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

jsoncheck=$BUILD_ROOT/tests/tools/jsoncheck
profile="$ROOFTOP profile"
export ROOFTOP_PROFILES="$scratch/profiles.db"

long=$(printf '%064d' 1)
expect_exit 2 "a name that would be cut" "$ROOFTOP" profile --name "$long" -- touch ran
expect_text err '^rooftop profile: --name: one line of text, of 63 bytes at most$' "and says how long it may be"
expect_exit 2 "a name of two lines" "$ROOFTOP" profile --name 'a
b' -- touch ran
[ ! -e ran ]
result $? "neither was run"
expect_exit 2 "no command and no verb" $profile
expect_exit 2 "a verb that there is not" $profile sing
expect_exit 0 "a list of none" $profile list
expect_text out 'No profile is kept yet\. .rooftop profile -- COMMAND. makes one' "says how to get one"
expect_exit 2 "show without a name" $profile show
expect_exit 2 "list with a name" $profile list x
expect_exit 2 "a profile that there is not" $profile show nobody
expect_text err "there is no profile 'nobody'" "and says so"
expect_exit 2 "it cannot be removed either" $profile rm nobody
ROOFTOP_NVML=/not/there ROOFTOP_SOURCE=nvml expect_exit 3 "without a GPU" $profile -- touch ran
[ ! -e ran ]
result $? "the command was not run then"

stage 1
ROOFTOP_PROFILES=$scratch expect_exit 1 "a store that cannot be written" $profile -- touch ran
expect_text err "profile: $scratch: " "is named"
[ ! -e ran ]
result $? "before the job is run"
expect_exit 0 "a profile" $profile --name one -- "$fake_job" alloc 3G seen 4
expect_text err 'stored; .rooftop profile show one. shows it' "and says where it is"
expect_exit 4 "a job that fails" $profile --name failed -- sh -c '"$0" alloc 1G seen 3; exit 4' "$fake_job"
expect_exit 0 "one without a name" $profile -- "$fake_job" alloc 2G seen 3
expect_exit 0 "the list" $profile list
expect_text out '^one +94 % +1[78] % +96 % .* 3572 MiB' "what it needs in a line"
[ "$(wc -l <out)" -eq 4 ]
result $? "all three are listed"
expect_text out '^[0-9a-f]{16} .*fake_job alloc 2G' "the nameless by its hash"
expect_exit 0 "all of it" $profile show one
expect_text out '^tensor_active_ratio +0\.935 +0\.935 +0\.935 +0\.935 +0\.935$' "percentiles"
expect_text out '0\.0 s to .* s  compute  Compute SOL  9[34] %, Memory SOL  1[78] %$' "a phase"
expect_text out 'GPU idle in 0 % of the samples' "no gaps"
$profile export one | "$jsoncheck" key exit_code memory_peak_bytes metrics.tensor_active_ratio.p95 \
    phases.0.bound scaling.# idle_ratio >values
echo '"one" 0 3745513472 0.935 "compute" 0 0' >expected
expect_same values expected "the export"
$profile export failed | "$jsoncheck" exit_code >values
echo 4 >expected
expect_same values expected "a failure is kept with its exit code"

expect_exit 0 "scaling" $profile --name one --scaling -- "$fake_job" alloc 1G seen 3
$profile export one | "$jsoncheck" scaling.# scaling.0.sm_percent scaling.2.sm_percent >values
echo '3 25 75' >expected
expect_same values expected "three parts of the SMs"
$profile export one | "$jsoncheck" span_seconds scaling.0.span_seconds | awk '{ print ($1 >= 0.1 && $2 >= 0.1) }' |
    grep -q 1
result $? "and the time from its first work on the GPU to its last, of each"
$profile show one >out
expect_text out '^with 50 % of the SMs: [0-9.]+ s, [0-9.]+ s from first to last work$' "show says it too"
expect_text out '^needs: [0-9]+ % of the SMs \(keeps 95 % of its speed\), 2 GiB \(its peak and a fifth\)$' "and what follows"
$profile list >out
expect_text out '^one .* alloc 1G seen 3$' "the profile of that name is replaced"
expect_exit 0 "removing" $profile rm one
expect_exit 2 "it is gone" $profile show one
ROOFTOP_PROFILES="$scratch/none/profiles.db" expect_exit 0 "a list of none" $profile list
ROOFTOP_PROFILES="$scratch/none/profiles.db" expect_exit 2 "nothing to remove" $profile rm one
[ ! -e none ]
result $? "makes no file"

# What is not a store of profiles stays as it is.
others_file() {
    cp "$1" before
    for how in list 'rm one' "-- touch ran"; do
        # shellcheck disable=SC2086
        ROOFTOP_PROFILES="$scratch/$1" expect_exit 1 "$2, $how" $profile $how
        expect_text err "$1: this is no store of profiles" "is refused by name"
    done
    cmp -s "$1" before && [ ! -e "$1-journal" ]
    result $? "$2 is as it was"
}
sqlite3 other.db 'CREATE TABLE t(a); CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END'
others_file other.db "another program's database"
cp "$SOURCE_ROOT/tests/data/version1.roof" .
others_file version1.roof "a recording"

# A file of the first version of the store: without the last columns and without an identity.
sqlite3 old.db "CREATE TABLE profile(key TEXT PRIMARY KEY, command TEXT, gpu_name TEXT,
    gpu_uuid TEXT, created REAL, wall_seconds REAL, measured_seconds REAL, exit_code INTEGER,
    memory_peak_bytes REAL, energy_joules REAL, idle_ratio REAL) WITHOUT ROWID;
    CREATE TABLE profile_metric(key TEXT, metric TEXT, count INTEGER, mean REAL, p5 REAL, p25 REAL,
    p50 REAL, p75 REAL, p95 REAL, max REAL, PRIMARY KEY(key, metric)) WITHOUT ROWID;
    INSERT INTO profile(key, command) VALUES('ancient', 'true')"
ROOFTOP_PROFILES="$scratch/old.db" expect_exit 0 "an old file" $profile list
expect_text out '^ancient ' "opens"

echo rubbish >bad.db
ROOFTOP_PROFILES="$scratch/bad.db" expect_exit 1 "a file that is no database" $profile list
expect_text err 'bad\.db: ' "and names it"

finish
