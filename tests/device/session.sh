#!/bin/sh
# Several steps in one call of a machine that is lent for minutes: whatever ends it, what was found is whole.
#
#   session.sh SECONDS <<'END'      a line is a step: LIMIT NAME COMMAND…
#   175 ceilings python3 .carry/device/ceilings.py 2
#   90 top python3 .carry/device/top.py
#   END
#
# A step gets no more than the seconds that are left, and is left out where these are under ten. What it prints
# goes to NAME.log; that and what it writes under $OUT is packed into one session.tar.gz there behind each step.
set -u
now() {
    date +%s
}

if [ $# -ne 1 ] || ! [ "$1" -gt 0 ] 2>/dev/null; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
end=$(($(now) + $1))
kept=${OUT:-session-out}
mkdir -p "$kept"
OUT=$(mktemp -d)
export OUT PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ROOFTOP=${ROOFTOP:-$PWD/.carry/rooftop}

pack() {
    tar -czf "$OUT.new" -C "$OUT" . && mv "$OUT.new" "$kept/session.tar.gz"
}

uname -r
if grep -qi gvisor /proc/version; then echo "gVisor: its sandbox hides the counters"; exit 3; fi
while read -r limit name command; do
    left=$((end - $(now) - 5))
    [ "$left" -ge 10 ] || { echo "== $name: left out, $left s are left"; continue; }
    [ "$limit" -le "$left" ] || limit=$left
    begin=$(now)
    timeout -k 4 "$limit" sh -c "$command" >"$OUT/$name.log" 2>&1 </dev/null
    echo "== $name: exit $?, $(($(now) - begin)) s"
    tail -c 1200 "$OUT/$name.log"
    pack
done
echo "== MPS that is left: $(ps -eo pid=,ppid=,stat=,args= | grep '[n]vidia-cuda-mps' || echo none)"
rm -rf "$OUT"
