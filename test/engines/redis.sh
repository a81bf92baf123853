#!/usr/bin/env bash
# A throw-away Redis for tests: no persistence, loopback only.
#
#   redis.sh fetch     install redis-server by apt-get, where this is root on Debian or Ubuntu and it is missing
#   redis.sh start     start it and wait until it answers PING
#   redis.sh stop      stop it
#   redis.sh kill / pause / resume   SIGKILL, SIGSTOP, SIGCONT
#   redis.sh status    pid and memory
#
# Environment (defaults): ENGINES_RUN_DIR=<project>/.engines  REDIS_PORT=16379  REDIS_SERVER=redis-server
PROG=redis.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

REDIS_PORT=${REDIS_PORT:-16379}
REDIS_SERVER=${REDIS_SERVER:-redis-server}
RUN_DIR=$ENGINES_RUN_DIR/redis-run
PIDFILE=$RUN_DIR/redis.pid
# redis-server rewrites its own process title to "redis-server 127.0.0.1:PORT"
MARKER=127.0.0.1:$REDIS_PORT

pong() {
  local line
  { exec 3<>"/dev/tcp/127.0.0.1/$REDIS_PORT"; } 2>/dev/null || return 1
  printf 'PING\r\n' >&3; IFS= read -r -t 2 line <&3; exec 3<&- 3>&-
  [ "${line%$'\r'}" = +PONG ]
}

# No package registry carries a Redis server, so it has to come from the distribution.
fetch() {
  if command -v "$REDIS_SERVER" >/dev/null 2>&1; then say "$REDIS_SERVER is there"; return; fi
  local -a install=(apt-get install -y --no-install-recommends redis-server)
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    die "'$REDIS_SERVER' is not on PATH; install it, on Debian or Ubuntu as root: apt-get update && ${install[*]}"
  fi
  say "redis-server is missing: as root, apt-get update && ${install[*]}"
  # Installing must not start a server of the system's own on the usual port.
  { try apt_get update && try apt_get "${install[@]:1}"; } || die "apt-get could not install redis-server (see above)"
  command -v "$REDIS_SERVER" >/dev/null 2>&1 || die "redis-server was installed, but '$REDIS_SERVER' is not on PATH"
}

apt_get() {
  local out
  if ! out=$(RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -q "$@" 2>&1); then
    printf '%s\n' "$out" | tail -n 10 >&2
    return 1
  fi
}

start() {
  local pid from tries=100
  need "$REDIS_SERVER" "run '$PROG fetch' first"
  if alive "$PIDFILE" "$MARKER" >/dev/null; then say "already runs on 127.0.0.1:$REDIS_PORT"; return; fi
  need_free_port "$REDIS_PORT" "redis" REDIS_PORT
  mkdir -p -- "$RUN_DIR"; from=$(now_ms)
  nohup "$REDIS_SERVER" --bind 127.0.0.1 --port "$REDIS_PORT" --save "" --appendonly no --daemonize no \
    --dir "$RUN_DIR" < /dev/null > "$RUN_DIR/redis.log" 2>&1 &
  pid=$!; disown "$pid" 2>/dev/null; printf '%s\n' "$pid" > "$PIDFILE"
  until pong; do
    kill -0 "$pid" 2>/dev/null || { tail -n 10 -- "$RUN_DIR/redis.log" >&2; rm -f -- "$PIDFILE"; die "redis ended while starting"; }
    tries=$((tries - 1)); [ "$tries" -gt 0 ] || die "redis does not answer; its log is $RUN_DIR/redis.log"
    sleep 0.05
  done
  say "ready on 127.0.0.1:$REDIS_PORT after $(( $(now_ms) - from )) ms (pid $pid, RSS $(rss_mb "$pid") MiB)"
}

case ${1:-} in
  fetch) fetch ;;
  start) start ;;
  stop) stop_pid "redis" "$PIDFILE" "$MARKER" ;;
  kill) signal_pid "redis" "$PIDFILE" "$MARKER" KILL ;;
  pause) signal_pid "redis" "$PIDFILE" "$MARKER" STOP ;;
  resume) signal_pid "redis" "$PIDFILE" "$MARKER" CONT ;;
  status)
    if pid=$(alive "$PIDFILE" "$MARKER"); then say "127.0.0.1:$REDIS_PORT pid $pid RSS $(rss_mb "$pid") MiB"
    else say "not running"; exit 3; fi ;;
  *) sed -n '2,/^PROG/{/^PROG/d;s/^# \{0,1\}//;p;}' "$0"; [ -z "${1:-}" ] || exit 2 ;;
esac
