. "$SOURCE_ROOT/tests/lib.sh"

export TZ=UTC LC_ALL=C.UTF-8 XDG_CONFIG_HOME="$scratch/config"
unset ROOFTOP_SOURCE
one=sim:$SOURCE_ROOT/tests/data/one.sim

expect_exit 0 "one screen as text" "$ROOFTOP" top --once --size 100x24 --source "$one" --from 4
expect_text out 'memory-bound: HBM' "the verdict is in it"
[ "$(wc -l <out)" -eq 24 ]
result $? "as many lines as were asked for"
expect_exit 0 "at a mark" "$ROOFTOP" top --once --size 100x24 --source "$one" --from copies
cp out at_mark
expect_exit 0 "behind a mark" "$ROOFTOP" top --once --size 100x24 --source "$one" --from product+3s
expect_same out at_mark "three seconds behind a mark is where the next one is"
expect_exit 2 "behind no mark" "$ROOFTOP" top --once --source "$one" --from nonsense+3s
expect_exit 2 "behind the end" "$ROOFTOP" top --once --source "$one" --from copies+3s
expect_exit 0 "in another mode" "$ROOFTOP" top --once --mode pipes --source "$one" --from 7
expect_text out 'tensor +93' "the pipes are shown"
expect_exit 0 "in blocks" "$ROOFTOP" top --once --characters block --source "$one" --from 7
! grep -Eq '⠉|⠒|⠤|⣀|⡇|⢸' out && grep -Eq '▀|▄|█' out
result $? "are blocks and no braille"
LC_ALL=C expect_exit 0 "in another locale" "$ROOFTOP" top --once --characters braille --source "$one" --from 7
! LC_ALL=C grep -q '[^ -~]' out
result $? "is ASCII, whatever is preferred"
expect_exit 0 "a GPU cut into instances" "$ROOFTOP" top --once --size 120x30 \
    --source "sim:$SOURCE_ROOT/tests/data/mig.sim"
expect_text out '^  0/0 MIG 3g.71gb .*C +88%' "has them below it"
if command -v sqlite3 >/dev/null; then
    "$ROOFTOP" record --source "$one@max" -o empty.roof >/dev/null
    sqlite3 empty.roof 'DELETE FROM sample'
    expect_exit 2 "nothing was recorded" "$ROOFTOP" top --once --source replay:empty.roof
    expect_text err 'empty.roof: the recording holds no samples' "is said of the file"
fi
expect_exit 2 "neither time nor mark" "$ROOFTOP" top --once --source "$one" --from nonsense
expect_text err "'nonsense' is no mark, and no time" "is named"
expect_exit 2 "no size" "$ROOFTOP" top --once --source "$one" --size 12
expect_exit 2 "too large" "$ROOFTOP" top --once --source "$one" --size 5000x20
expect_exit 2 "an impossible budget" "$ROOFTOP" top --once --source "$one" --budget 0
expect_exit 2 "no terminal" "$ROOFTOP" top --source "$one"
expect_text err 'use --once' "what to do instead"
expect_exit 2 "no command and no terminal" "$ROOFTOP" --source "$one"

"$ROOFTOP" reference keys >keys
sed -n '/^# KEYS$/,/^# MOUSE$/p' "$SOURCE_ROOT/man/rooftop-top.1.scd" | sed '1,2d;$d' | sed '$d' >page
expect_same page keys "the keys of rooftop-top(1) are those of the table"

finish
