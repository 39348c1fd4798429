. "$SOURCE_ROOT/tests/lib.sh"

expect_exit 0 "help" "$ROOFTOP" --help
expect_text out '^  version ' "the overview lists the commands"
expect_exit 0 "a command's help" "$ROOFTOP" version --help
expect_text out '^Usage: rooftop version' "a command's help shows its usage"
expect_exit 2 "an unknown command" "$ROOFTOP" nonsense
expect_text err "no command 'nonsense'" "an unknown command is named"
expect_exit 2 "an unknown option" "$ROOFTOP" version --nonsense
expect_text err "no option --nonsense" "an unknown option is named"

finish
