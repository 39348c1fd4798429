# The fake MPS daemon against what the real one answered on an H200 (tests/fake/h200-mps.txt and h200-mps-options.txt,
# of what tests/device/share.py wrote): each command of a section is asked again, and the answer compared.
. "$SOURCE_ROOT/tests/lib.sh"
. "$SOURCE_ROOT/tests/share_stage.sh"

transcript=$SOURCE_ROOT/tests/fake/h200-mps.txt
uuid=GPU-00000000-0000-4000-8000-000000000001
real_uuid=$(sed -n 's/.*CUDA_VISIBLE_DEVICES=\(GPU-[0-9a-f-]*\).*/\1/p' "$transcript" | head -n 1)

stage 1
mkdir pipe log
export CUDA_MPS_PIPE_DIRECTORY="$PWD/pipe" CUDA_MPS_LOG_DIRECTORY="$PWD/log" CUDA_VISIBLE_DEVICES="$uuid"

section() {
    awk -v title="# $1" '/^# [^c]|^# commands|^## / { on = ($0 == title); next } on' "$transcript" | sed '/^# control.log/,$d'
}

# Names of the recording for names of this machine, and columns without their widths.
server=none
to_here() { sed "s/\b$1\b/$server/g; s/\b$2\b/$client/g; s/$real_uuid/$uuid/g"; }
to_there() {
    sed "s/\b$server\b/$1/g; s/\b$client\b/$2/g; s/$uuid/$real_uuid/g; s/GPU-00000000-0000-4000\b/$(echo "$real_uuid" | cut -c 1-22)/g" |
        sed 's/fake_job/COMMAND/; s|/opt/[^ ]*/python3|COMMAND|' | tr -s ' '
}

# replay SECTION SERVER CLIENT: PIDs as they were recorded. Fills `expected` and `answers`.
replay() {
    : >expected
    : >answers
    command=
    section "$1" | grep -v '^[^<>]*:' >lines
    while IFS= read -r line; do
        case $line in
        '> '*) command=${line#> } ;;
        '< rc '*)
            rc=$(printf '%s' "$line" | sed 's/^< rc \([0-9]*\).*/\1/')
            text=$(printf '%s' "$line" | sed "s/^< rc [0-9]* out '\(.*\)' err ''  # .*/\1/")
            [ "$command" != quit ] || break
            { printf '> %s\n' "$command"; printf '%b' "$text"; echo "rc $rc"; } | to_there "$2" "$3" >>expected
            printf '%s\n' "$command" | to_here "$2" "$3" >question
            { printf '> '; cat question; "$ROOFTOP_MPS_CONTROL" <question; echo "rc $?"; } | to_there "$2" "$3" >>answers
            ;;
        '') ;;
        *) command=$(printf '%s\n%s' "$command" "$line") ;;
        esac
    done <lines
    [ "$(grep -c '^> ' expected)" -ge "$4" ]
    result $? "$1: the recording has its commands"
    expect_same answers expected "$1: the same answers"
}

start() {
    "$ROOFTOP_MPS_CONTROL" -d
    await [ -e pipe/nvidia-cuda-mps-control.pid ]
}
ask() { echo "$1" | "$ROOFTOP_MPS_CONTROL"; }
quit() {
    ask quit
    await [ ! -e pipe/nvidia-cuda-mps-control.pid ]
    ls pipe | tr '\n' ' ' >left
    sed -n "s/^after quit: pipe \[\(.*\)\]/\1 /p" "$transcript" | head -n 1 | tr -d "',"  | tr -d '\n' >expected
    expect_same left expected "what stays in the pipe folder"
    rm -f pipe/*
}
client() {
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$1 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=$2 "$fake_job" sm $3 >client.out
}
# said FILE: what a client said of SMs and allocations.
said() { grep -Eo 'sm (0 )?[0-9]+|alloc [0-9.]+G? -> [0-9]' "$1" | sed 's/sm 0 /sm /; s/G / /'; }
recorded() { section "$1" | grep "^$2" | tr '|' '\n' >recording; said recording; }

"$ROOFTOP_MPS_CONTROL" -v >version
sed -n "s/^-v:.* stdout='\(.*\)', stderr=.*/\1/p" "$transcript" >line
printf '%b' "$(cat line)" >expected
expect_same version expected "the version"

answers_there() {
    ask get_server_list >/dev/null 2>&1 && echo yes || echo no
}
grep -v '^#' "$SOURCE_ROOT/tests/fake/h200-mps-options.txt" >options
: >answers
while IFS='|' read -r words rest; do
    # shellcheck disable=SC2086
    "$ROOFTOP_MPS_CONTROL" $words </dev/null >out 2>err
    code=$?
    case $rest in *yes) await ask get_server_list ;; esac
    there=$(answers_there)
    printf '%s|%s|%s|%s|%s\n' "$words" $code "$(head -n 1 out | sed 's/\x00/\\0/')" "$(head -n 1 err)" "$there" >>answers
    [ "$there" = no ] || quit
done <options
expect_same answers options "what it does with options"

client=none
start
replay 'commands while there is no server' none none 30
quit

start
client 25 2G 'alloc 3G alloc 1G touch up wait end' &
job=$!
await [ -e up ]
server=$(ask get_server_list)
client=$(ask "get_client_list $server")
replay 'one client at 25 % and 2 GiB' 624 503 13
touch end
wait $job
said client.out >answers
recorded 'one client at 25 % and 2 GiB' 'client 1:' >expected
expect_same answers expected "its limits"
client 0 0 'alloc 5G alloc 3G'
said client.out >answers
recorded 'a client without its own limits, the server at 40 % and 4 GiB' 'exit 0' >expected
expect_same answers expected "the server's own limits"
rm -f up end
quit

start
client 25 2G 'touch up spin 60' &
job=$!
await [ -e up ]
server=$(ask get_server_list)
client=$(ask "get_client_list $server")
replay 'terminate_client of a busy client, another beside it' 740 767 2
wait $job
[ $? -eq 12 ]
result $? "the client was told"
rm -f up

client 25 2G 'touch up spin 60' &
job=$!
await [ -e up ]
client 25 2G fault
wait $job
[ $? -eq 10 ]
result $? "a fault takes its neighbour down"
gone() { [ -z "$(ask "get_client_list $server")" ]; }
await gone
replay 'an illegal access in one of three' 804 none 3
grep -o 'to be torn down' "$transcript" | head -n 1 >expected
grep -o 'to be torn down' log/server.log | head -n 1 >answers
expect_same answers expected "what the server's log says of it"
quit

finish
