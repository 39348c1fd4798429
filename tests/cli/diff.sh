. "$SOURCE_ROOT/tests/lib.sh"

# one.sim: idle 2 s, decode 3 s, product 3 s, copies 2 s, with known values.
"$ROOFTOP" record -s "sim:$SOURCE_ROOT/tests/data/one.sim@max" -o one.roof 2>/dev/null
"$ROOFTOP" record -s "sim:$SOURCE_ROOT/tests/data/lost.sim@max" -o two.roof 2>/dev/null

# json_of METRIC KEY…: from `out`
metric() {
    tr '{' '\n' <out | sed -n "/\"$1\":\$/,/verdict/p"
}

expect_exit 0 "two marks" "$ROOFTOP" diff --format json 'one.roof#product' 'one.roof#copies'
metric tensor_active_ratio >shown
expect_text shown '"mean":0.934,"spread":0,"seconds":3' "the mean of the first"
expect_text shown '"mean":0,"spread":0,"seconds":2' "the mean of the second"
expect_text shown '"difference":-0.934,"by_chance":0,"verdict":"beyond_spread"' "and their difference"
metric energy_joules_total >shown
expect_text shown '"mean":66(6\.9999|7)' "a counter counts by its growth a second"
expect_text shown '"per_second":true' "and says so"
metric memory_total_bytes >shown
expect_text shown '"verdict":"same"' "what is the same is called so"
metric effective_clock_hertz >shown
[ ! -s shown ]
result $? "what neither side knows is left out"

expect_exit 0 "as text" "$ROOFTOP" diff 'one.roof#product' 'one.roof#copies'
expect_text out 'tensor_active_ratio +93.4 % ± 0.0 % +0.0 % ± 0.0 % +-93.4 points +beyond the spread' \
    "a row of the text"
! grep -q memory_total_bytes out
result $? "what is the same is not shown"
expect_exit 0 "--all" "$ROOFTOP" diff --all 'one.roof#product' 'one.roof#copies'
expect_text out 'memory_total_bytes.*the same' "shows it"

expect_exit 0 "a recording with itself" "$ROOFTOP" diff one.roof one.roof
! grep -Eq 'beyond the spread$|within the spread$' out
result $? "differs in nothing"
expect_text out '^Every number is the same; --all shows them$' "and is said to"

expect_exit 0 "parts by time" "$ROOFTOP" diff --from 5.1 --to 7.9 -f json one.roof one.roof
metric tensor_active_ratio >shown
expect_text shown '"mean":0.934,"spread":0,"seconds":2' "lie where they were asked for"
expect_exit 0 "a part below a second" "$ROOFTOP" diff --to 500ms -f json one.roof one.roof
metric sm_clock_hertz >shown
expect_text shown '"seconds":1' "is one mean"
expect_exit 0 "one sample" "$ROOFTOP" diff --to 0.05 one.roof one.roof
expect_text out '^A is too short: a mean takes two samples$' "has nothing to compare, and says so"
expect_exit 0 "too short" "$ROOFTOP" diff --from 4.5 --to 5.5 one.roof 'one.roof#product'
expect_text out 'tensor_active_ratio.*too short to tell' "is said to be so"

expect_exit 0 "recordings with different GPUs" "$ROOFTOP" diff two.roof one.roof
expect_text out 'A has 2 and B 1 GPUs' "says how many are compared"
expect_exit 2 "a mark that is not there" "$ROOFTOP" diff one.roof 'one.roof#prodct'
expect_text err "one.roof has no mark 'prodct'; its marks are: idle, decode, product, copies" \
    "the message lists the marks"
expect_exit 2 "a file that is not there" "$ROOFTOP" diff one.roof nowhere.roof
expect_text err 'nowhere.roof: No such file' "is named"
expect_exit 2 "one operand" "$ROOFTOP" diff one.roof
expect_exit 2 "--from after --to" "$ROOFTOP" diff --from 3 --to 2 one.roof one.roof
expect_exit 2 "nothing between --from and --to" "$ROOFTOP" diff --from 1h one.roof one.roof
cp one.roof 'with#hash.roof'
expect_exit 0 "a file whose name holds the sign" "$ROOFTOP" diff 'with#hash.roof#idle' 'with#hash.roof'

finish
