# Shared by the engines' scripts: where things are kept, processes by pid file, ports, downloads. Sourced, never run.
# shellcheck shell=bash
set -u -o pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# What was downloaded: ENGINES_DIR. Data, pid files and logs of what runs: ENGINES_RUN_DIR; another one makes independent instances.
ENGINES_DIR=${ENGINES_DIR:-$HERE/../../.engines}
ENGINES_RUN_DIR=${ENGINES_RUN_DIR:-$ENGINES_DIR}
mkdir -p -- "$ENGINES_DIR" "$ENGINES_RUN_DIR" || exit 1
ENGINES_DIR=$(cd -- "$ENGINES_DIR" && pwd -P)
ENGINES_RUN_DIR=$(cd -- "$ENGINES_RUN_DIR" && pwd -P)
# Maven's own cache by default (~/.m2): shared with other builds. Set it for a self-contained folder.
ENGINES_M2=${ENGINES_M2:-}
DEPENDENCY_PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:${DEPENDENCY_PLUGIN_VERSION:-3.8.1}
STOP_TIMEOUT=${STOP_TIMEOUT:-30}

say() { printf '%s: %s\n' "$PROG" "$*"; }
die() { printf '%s: error: %s\n' "$PROG" "$*" >&2; exit 1; }

need() { # need COMMAND HINT
  command -v "$1" >/dev/null 2>&1 || die "'$1' is not on PATH; $2"
}

need_java() { # need_java MAJOR -> sets JAVA
  JAVA=java
  if [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ]; then JAVA=$JAVA_HOME/bin/java; fi
  need "$JAVA" "install a Java $1 (or newer) runtime, e.g. openjdk-17-jre-headless, or set JAVA_HOME"
  local major
  major=$("$JAVA" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
  [ "${major:-0}" -ge "$1" ] || die "Java $1 or newer is needed, found '${major:-unknown}' ($JAVA)"
}

# Three tries, with a pause before the second and third: registries have bad minutes.
try() { # try COMMAND...
  local pause
  for pause in 5 20; do
    if "$@"; then return 0; fi
    say "failed; trying again in $pause s"; sleep "$pause"
  done
  "$@"
}

mvn_run() { # mvn_run POM ARGS...   prints Maven's output only when it fails
  need mvn "install Maven (Debian: apt-get install -y --no-install-recommends maven)"
  try mvn_once "$@"
}

mvn_once() {
  local pom=$1 out; shift
  local -a repo=()
  [ -z "$ENGINES_M2" ] || repo=("-Dmaven.repo.local=$ENGINES_M2")
  # -C: a checksum that differs fails; -U: what could not be found a moment ago is looked for again
  if ! out=$(mvn -q -B -C -U -f "$pom" ${repo[@]+"${repo[@]}"} "$@" 2>&1); then
    printf '%s\n' "$out" | head -n 15 >&2
    return 1
  fi
}

check_sums() { # check_sums FOLDER NAME   the files of FOLDER are those of checksums/NAME.sha256, none more, none less
  local list=$HERE/checksums/$2.sha256
  [ -f "$list" ] || die "checksums/$2.sha256 is missing: this version was never checked"
  [ "$(cd -- "$1" && printf '%s\n' * | LC_ALL=C sort)" = "$(awk '{ print $2 }' "$list" | LC_ALL=C sort)" ] ||
    die "the downloaded files are not those of checksums/$2.sha256"
  (cd -- "$1" && sha256sum --check --quiet --strict "$list") || die "a downloaded file has not the SHA-256 of checksums/$2.sha256"
}

# A pid file counts only while that process is alive and its command line carries our marker:
# a reused pid of some other program is never signalled.
alive() { # alive PIDFILE MARKER -> prints the pid
  local pid
  [ -f "$1" ] || return 1
  pid=$(cat -- "$1" 2>/dev/null) || return 1
  case $pid in ''|*[!0-9]*) return 1 ;; esac
  kill -0 "$pid" 2>/dev/null || return 1
  case $(ps -o stat= -p "$pid" 2>/dev/null) in Z*) return 1 ;; esac
  ps -ww -o args= -p "$pid" 2>/dev/null | grep -qF -- "$2" || return 1
  printf '%s\n' "$pid"
}

wait_gone() { # wait_gone PIDFILE MARKER SECONDS
  local until=$(( $(now_ms) + $3 * 1000 ))
  while alive "$1" "$2" >/dev/null; do
    [ "$(now_ms)" -lt "$until" ] || return 1
    sleep 0.1
  done
}

stop_pid() { # stop_pid NAME PIDFILE MARKER
  local pid
  if ! pid=$(alive "$2" "$3"); then
    rm -f -- "$2"; say "$1 is not running"; return 0
  fi
  kill -TERM "$pid" 2>/dev/null
  if ! wait_gone "$2" "$3" "$STOP_TIMEOUT"; then
    say "$1 (pid $pid) did not stop in ${STOP_TIMEOUT}s: kill -9"
    kill -KILL "$pid" 2>/dev/null
    wait_gone "$2" "$3" 5 || die "$1 (pid $pid) cannot be killed"
  fi
  rm -f -- "$2"; say "$1 stopped (pid $pid)"
}

signal_pid() { # signal_pid NAME PIDFILE MARKER SIGNAL   KILL waits until it is gone
  local pid
  pid=$(alive "$2" "$3") || die "$1 is not running"
  kill "-$4" "$pid"
  if [ "$4" = KILL ]; then
    wait_gone "$2" "$3" 5 || die "pid $pid is still there"
    rm -f -- "$2"
  fi
  say "SIG$4 to $1 (pid $pid)"
}

port_open() { # port_open PORT
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

need_free_port() { # need_free_port PORT WHAT VARIABLE
  ! port_open "$1" || die "port $1 ($2) is already taken by another program; set $3 to a free one"
}

http_status() { # http_status PORT PATH -> prints the status code
  local line
  { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
  printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
  IFS= read -r -t 5 line <&3; exec 3<&- 3>&-
  line=${line#* }; printf '%s\n' "${line%% *}"
}

rss_mb() { ps -o rss= -p "$1" 2>/dev/null | awk '{ printf "%d", $1 / 1024 }'; }

now_ms() { date +%s%3N; }
