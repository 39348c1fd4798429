# docs/PILOT.md, word for word, on stand-ins for the GPU and the jobs.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

stage 1
"$fake_job" start
export ROOFTOP_PROFILES="$PWD/profiles.db"
pilot=$SOURCE_ROOT/docs/PILOT.md
mkdir bin
ln -s "$ROOFTOP" bin/rooftop
# What is slow in the real one. The bench stops a job that says that it has warmed up; it works when it may go on.
# Elsewhere it is to be measured.
cat >bin/python <<END
#!/bin/sh
[ -n "\$ROOFTOP_JOB" ] || exec "$fake_job" alloc 1G seen 4
trap 'may_go=1' CONT
echo epoch 1
until [ -n "\$may_go" ]; do sleep 0.01; done
exec "$fake_job" alloc 1G spin 0.05
END
chmod +x bin/python
PATH=$PWD/bin:$PATH
export PATH

awk '/^```ini$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$pilot" >jobs.ini
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$pilot" >commands
[ "$(wc -l <commands)" -eq 10 ] && [ -s jobs.ini ]
result $? 'the guide has its commands and its jobs'
sed -i 's/^repeats.*/&\nsettle = 1ms/' jobs.ini
while read -r line; do
    # On another descriptor: the command may read its input.
    expect_exit 0 "$line" sh -c "$line" 3<&-
done 3<commands <commands
expect_text jobs.html 'Small trainings on node 12' 'the page is there'
expect_text jobs.html 'freed hours fully used' 'with the return'
sqlite3 jobs.bench "SELECT trial, name, outcome, output FROM run WHERE outcome <> 'ended'
    UNION ALL SELECT count(*), '', '', '' FROM run" >out
echo '60|||' >expected
expect_same out expected '4 jobs × 5 modes × 3 repeats ended well'
finish
