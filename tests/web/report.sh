# The pages of `rooftop report` in a real browser: on a telephone and on a screen, light and dark, and on paper.
. "$SOURCE_ROOT/tests/lib.sh"

for program in chromium pdftotext; do
    command -v $program >/dev/null && continue
    skip "pages in a browser" "no $program here; ./dev test all installs it"
    finish
done

# What a browser wants of a network, a bus or a home folder it has not.
browse() {
    HOME=$PWD chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$PWD/profile" "$@" 2>browser.err
}

# look PAGE WIDTH light|dark: into `looked`, what look.js says of it.
look() {
    {
        sed '/<head>/q' "$1.html"
        echo '<script>' && cat "$SOURCE_ROOT/tests/web/look.js" && echo '</script>'
        sed '1,/<head>/d' "$1.html"
    } >"look-$1.html"
    cat >frame.html <<END_OF_PAGE
<!DOCTYPE html><style>:root { color-scheme: light dark }</style><pre></pre>
<iframe src="look-$1.html" width="$2" height="800" style="border: 0"></iframe>
<script>onmessage = (message) => { document.querySelector('pre').textContent = message.data + '\n'; };</script>
END_OF_PAGE
    [ "$3" = dark ]
    browse --blink-settings=preferredColorScheme=$? --virtual-time-budget=5000 --dump-dom "file://$PWD/frame.html" |
        sed -n '/<pre>/,/<\/pre>/{s/.*<pre>//;/<\/pre>/d;p}' >looked
}

# expect_readable PAGE
expect_readable() {
    for width in 360 1200; do
        for scheme in light dark; do
            look "$1" $width $scheme
            sed -n 2,\$p looked >stumbles
            head -n 1 looked | grep -q "[1-9][0-9]* charts, $scheme, $width px" && [ ! -s stumbles ]
            result $? "$1: $width px, $scheme"
            sed 's/^/# /' looked
        done
    done
}

# expect_printable PAGE: its headings are on sheets of A4, and no word goes over their edge.
expect_printable() {
    browse --no-pdf-header-footer --print-to-pdf="$1.pdf" "file://$PWD/$1.html"
    pdftotext -layout "$1.pdf" text
    sed 's/<h2>/\n<h2>/g' "$1.html" | sed -n 's/^<h2>\([^<]*\).*/\1/p' >headings
    missing=
    while read -r heading; do
        grep -q -F -- "$heading" text || missing="$missing $heading"
    done <headings
    [ -s headings ] && [ -z "$missing" ]
    result $? "$1: all of it is printed"
    [ -z "$missing" ] || echo "# missing:$missing"
    # 14 mm are 39.7 points.
    pdftotext -bbox "$1.pdf" words
    awk -F '"' '/<page / { w = $2; h = $4; if (int(w) != 594 && int(w) != 595) print "a page " w " wide" }
        /<word / && ($2 < 38 || $4 < 38 || $6 > w - 38 || $8 > h - 38) { print }' words >beyond
    [ ! -s beyond ]
    result $? "$1: on A4, inside its margins"
    sed 's/^/# /' beyond
}

report() {
    "$ROOFTOP" report -f html "$@"
}
prices='--gpu-hours 8000 --gpu-hour-cost 3 --power-cost 0.2 --adoption-cost 2000 --operations-cost 1500'

# shellcheck disable=SC2086
report $prices "$SOURCE_ROOT/docs/results/mix.bench" >mix.html
report "$SOURCE_ROOT/docs/results/large.bench" >large.html
# One that is failed jobs, long words and signs of HTML.
sqlite3 odd.bench <"$SOURCE_ROOT/tests/data/bench.sql"
long=$(printf '%058d' 0 | tr 0 w)
sqlite3 odd.bench "UPDATE fact SET value = replace(value, 'Two <jobs>', '$long <b>&amp;日本語</b> $long') WHERE name = 'jobs';
    UPDATE fact SET value = replace(value, '[a]', '[a-$long]') WHERE name = 'jobs';
    UPDATE run SET name = 'a-$long' WHERE name = 'a';
    UPDATE run SET output = '$long$long <script>' WHERE outcome = 'failed'"
report odd.bench >odd.html || exit 99
# Jobs that take hours, and as many as there may be.
sqlite3 hours.bench <"$SOURCE_ROOT/tests/data/bench.sql"
sqlite3 hours.bench 'UPDATE run SET begin = begin * 1350, end = end * 1350; UPDATE point SET time = time * 1350'
report hours.bench >hours.html || exit 99
sqlite3 crowd.bench <"$SOURCE_ROOT/tests/data/bench.sql"
sqlite3 crowd.bench "UPDATE fact SET value = replace(value, 'a.py', 'a.py' || char(10) || 'count = 255') WHERE name = 'jobs';
    UPDATE run SET instance = 255 WHERE instance = 1;
    WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 254)
    INSERT INTO run SELECT trial, n, name, begin, end, iif(n < 9, 'timeout', outcome), exit_code, memory_peak, output
    FROM run, k WHERE instance = 0"
report crowd.bench >crowd.html || exit 99
for page in mix large odd hours crowd; do
    expect_readable $page
    expect_printable $page
done

finish
