. "$SOURCE_ROOT/tests/lib.sh"

# Nothing goes over a network that nobody asked for. These folders may, each for a command that says
# so; whatever else opens a socket opens one of this host (AF_UNIX).
allowed='^src/(serve|pool)/|^src/jobs/server_http\.c$' # server_http.c: the model server of a job of this host

cd "$SOURCE_ROOT" || exit 99
grep -rlE 'AF_INET|getaddrinfo|gethostby|curl_|<netdb\.h>|<netinet/' src include |
    grep -Ev "$allowed" | sort >"$scratch/found"
[ ! -s "$scratch/found" ]
result $? "nothing but what serves a network opens one"
sed 's/^/# /' "$scratch/found"

finish
