. "$SOURCE_ROOT/tests/lib.sh"

expect_exit 0 "help" "$ROOFTOP" --help
expect_text out '^  version ' "the overview lists the commands"
expect_exit 0 "a command's help" "$ROOFTOP" version --help
expect_text out '^Usage: rooftop version' "a command's help shows its usage"
cp out by_option
expect_exit 0 "help and a command" "$ROOFTOP" help version
expect_same out by_option "is the command's help"
expect_exit 2 "help and an unknown command" "$ROOFTOP" help nonsense
expect_text err "no command 'nonsense'" "is named"
expect_exit 2 "an unknown command" "$ROOFTOP" nonsense
expect_text err "no command 'nonsense'" "an unknown command is named"
expect_exit 2 "an unknown option" "$ROOFTOP" version --nonsense
expect_text err "no option --nonsense" "an unknown option is named"
expect_exit 2 "an unknown letter before another" "$ROOFTOP" stat --count 1 -zc 1
expect_text err "no option -z$" "is named"
expect_exit 2 "a flag with an argument" "$ROOFTOP" stat --processes=3
expect_text err "^rooftop stat: --processes takes no argument" "is named"
expect_exit 2 "an option without its argument" "$ROOFTOP" stat --interval
expect_text err "^rooftop stat: --interval needs an argument" "is named"
expect_exit 2 "an interval of years" "$ROOFTOP" stat --interval 1e9
expect_text err "^rooftop stat: --interval: 1e\+09 s is too long" "is named"
expect_exit 2 "a source in the environment that there is not" env ROOFTOP_SOURCE=junk "$ROOFTOP" list
expect_text err "ROOFTOP_SOURCE, junk$" "it is said whose it is"

# Each command's help ends with an example of it, but that of what takes nothing.
"$ROOFTOP" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -vx version | while read -r command; do
    "$ROOFTOP" "$command" --help | grep -q "^  rooftop $command" || echo "$command"
done >without
expect_same without /dev/null "each command's help shows an example"

finish
