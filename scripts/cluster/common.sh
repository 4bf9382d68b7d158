# shellcheck shell=bash
# Sourced by the scripts beside it: what they say, what they install, and the daemons they start and
# end. A daemon is known by its process id and the moment it began, so that an id that was given to
# another process since is never taken for it.

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
    say "$@"
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Installs the packages of the commands that are missing: need COMMAND PACKAGE [COMMAND PACKAGE]...
need() {
    local missing=()
    while [ $# -gt 1 ]; do
        command -v "$1" >/dev/null || missing+=("$2")
        shift 2
    done
    [ ${#missing[@]} = 0 ] || install "${missing[@]}"
}

# RUNLEVEL=1 keeps the packages from starting services of their own.
install() {
    say "installing $*"
    local apt=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o DPkg::Lock::Timeout=60)
    local log
    log=$(mktemp)
    as_root "${apt[@]}" install -y --no-install-recommends "$@" >"$log" 2>&1 ||
        { as_root "${apt[@]}" update && as_root "${apt[@]}" install -y --no-install-recommends "$@"; } >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; rm -f "$log"; die "cannot install $*"; }
    rm -f "$log"
}

# The moment a process began, in ticks since the machine did: proc(5), field 22 of stat. The name
# before it may hold anything. A zombie has ended.
began() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [ "$1" != Z ] && printf '%s\n' "${20}"
}

# Whether the daemon NAME that was recorded in the folder RUN still lives: lives RUN NAME
lives() {
    local id moment
    { read -r id moment <"$1/$2.pid"; } 2>/dev/null || return 1
    [ -n "$moment" ] && [ "$(began "$id")" = "$moment" ]
}

# Starts a daemon that stays in the foreground, unless it lives: launch RUN LOG NAME COMMAND...
launch() {
    local run=$1 log=$2 name=$3
    shift 3
    lives "$run" "$name" && return
    setsid "$@" >>"$log/$name.out" 2>&1 9>&- </dev/null &
    printf '%s %s\n' $! "$(began $!)" >"$run/$name.pid"
}

# Ends the daemon NAME: gently, after five seconds not gently.
quench() {
    local id
    if lives "$1" "$2"; then
        read -r id _ <"$1/$2.pid"
        kill -TERM "$id" 2>/dev/null
        for _ in $(seq 100); do
            lives "$1" "$2" || break
            sleep 0.05
        done
        lives "$1" "$2" && kill -KILL "$id" 2>/dev/null
    fi
    rm -f "$1/$2.pid"
}
