. "$SOURCE_ROOT/tests/lib.sh"

"$ROOFTOP" reference metrics >METRICS.md
expect_same METRICS.md "$SOURCE_ROOT/docs/METRICS.md" "docs/METRICS.md is what 'rooftop reference metrics' prints"
"$ROOFTOP" reference format >FORMAT.md
expect_same FORMAT.md "$SOURCE_ROOT/docs/FORMAT.md" "docs/FORMAT.md is what 'rooftop reference format' prints"
expect_exit 2 "an unknown reference" "$ROOFTOP" reference nonsense
expect_exit 2 "no reference" "$ROOFTOP" reference

"$ROOFTOP" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' >commands
[ -s commands ]
result $? "the overview lists commands"

# options_of COMMAND: as its help lists them
options_of() {
    "$ROOFTOP" "$1" --help | sed -n '/^Options:/,/^$/s/^  *\(-[A-Za-z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort
}

for shell in bash zsh fish; do
    "$ROOFTOP" reference completion-$shell >completion.$shell
    if command -v $shell >/dev/null; then
        expect_exit 0 "$shell takes the completion's grammar" $shell -n completion.$shell
    else
        skip "$shell takes the completion's grammar" "no $shell here"
    fi
done

# complete WORD…: what bash offers for the last word
complete_words() {
    bash -c '. ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rooftop 2>/dev/null
        printf "%s\n" "${COMPREPLY[@]}"' complete "$@" | sort
}

if command -v bash >/dev/null; then
    (cat commands; echo help) | sort >expected
    complete_words rooftop '' >offered
    expect_same offered expected "bash offers the commands"
    sort commands >expected
    complete_words rooftop help '' >offered
    expect_same offered expected "bash offers the commands behind help"
    touch file.ini
    for command in bench report roi; do
        complete_words rooftop $command fil | grep -qx file.ini
        result $? "bash offers files to $command"
    done
    while read -r command; do
        options_of "$command" >expected
        complete_words rooftop "$command" -- >offered
        expect_same offered expected "bash offers the options of $command"
    done <commands
else
    skip "what bash offers" "no bash here"
fi
for shell in zsh fish; do
    while read -r command; do
        grep -q -- "$command" completion.$shell || echo "$command"
    done <commands >missing
    expect_same missing /dev/null "the $shell completion has all commands"
done

# Man pages: the options of a page are those of the table, none less and none more.
while read -r command; do
    page=$SOURCE_ROOT/man/rooftop-$command.1.scd
    if [ ! -f "$page" ]; then
        result 1 "man/rooftop-$command.1.scd exists, and has a row in man/meson.build"
        continue
    fi
    options_of "$command" >expected
    grep '^\*-' "$page" | grep -o -- '--[a-z0-9][a-z0-9-]*' | sort >described
    expect_same described expected "rooftop-$command(1) describes the options that there are"
    grep -q "'rooftop-$command'," "$SOURCE_ROOT/man/meson.build"
    result $? "rooftop-$command(1) has a row in man/meson.build"
    grep -q "^\*$command\*" "$SOURCE_ROOT/man/rooftop.1.scd"
    result $? "rooftop(1) names $command"
done <commands

finish
