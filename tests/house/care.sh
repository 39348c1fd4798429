. "$SOURCE_ROOT/tests/lib.sh"

# What a program owes that root runs: files that its children do not inherit, and paths that nobody
# else chooses.
cd "$SOURCE_ROOT" || exit 99

grep -rnE '\b(open|openat)\(.*O_(RDONLY|WRONLY|RDWR)' src --include=*.c | grep -v O_CLOEXEC |
    grep -v '"/dev/null"' >"$scratch/found" # a standard stream
grep -rnE '\bfopen\([^"]*"[^"e]*"\)' src --include=*.c >>"$scratch/found"
grep -rnE '\b(socket|pipe|accept|dup|creat|popen|system|tmpfile|epoll_create|mkstemp)\(' src --include=*.c |
    grep -v SOCK_CLOEXEC >>"$scratch/found"
[ ! -s "$scratch/found" ]
result $? "every file is closed when a program is started"
sed 's/^/# /' "$scratch/found"

# Of the terminal these tell, and no file.
grep -rnE '\bgetenv\(' src --include=*.c | grep -vE '\bgetenv\("(TERM|COLORFGBG|NO_COLOR)"\)' >"$scratch/found"
[ ! -s "$scratch/found" ]
result $? "the environment is not asked where AT_SECURE is set"
sed 's/^/# /' "$scratch/found"

finish
