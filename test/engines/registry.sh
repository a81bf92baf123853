#!/usr/bin/env bash
# A real schema registry (Apicurio Registry, from Maven Central) with the Confluent API (ccompat v7).
#
#   registry.sh fetch     download and unpack the server (once; later calls do nothing)
#   registry.sh fetched   whether it was (exit code)
#   registry.sh start     start it, wait until it answers; prints the URL for Confluent clients
#   registry.sh stop      stop it
#   registry.sh kill / pause / resume   SIGKILL, SIGSTOP, SIGCONT
#   registry.sh status    pid and memory
#   registry.sh clean     remove its schemas; only together with the Kafka logs that name them by id
#
# Environment (defaults): ENGINES_DIR=<project>/.engines  ENGINES_RUN_DIR=$ENGINES_DIR  REGISTRY_PORT=18081
#   REGISTRY_HEAP=384m  REGISTRY_JVM_OPTS  START_TIMEOUT=240
#   REGISTRY_IN_MEMORY=1 (its schemas end with it, and a request takes a fifth less)
PROG=registry.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# 3.x needs Java 21.
APICURIO_VERSION=2.6.13.Final
REGISTRY_PORT=${REGISTRY_PORT:-18081}
REGISTRY_HEAP=${REGISTRY_HEAP:-384m}
START_TIMEOUT=${START_TIMEOUT:-240}
HOME_DIR=$ENGINES_DIR/apicurio-$APICURIO_VERSION
RUN_DIR=$ENGINES_RUN_DIR/registry-run
# In a file, not in memory as is this build's default: the logs of Kafka, which stay, name schemas by their ids.
DATA=$RUN_DIR/data
KEPT="-Dquarkus.datasource.jdbc.url=jdbc:h2:file:$DATA/registry;WRITE_DELAY=0"
[ "${REGISTRY_IN_MEMORY:-0}" != 1 ] || KEPT=
PIDFILE=$RUN_DIR/registry.pid
MARKER=-Dengines.node=$RUN_DIR
API=/apis/ccompat/v7

runner() { printf '%s\n' "$1/apicurio-registry-app-$APICURIO_VERSION-runner.jar"; }

fetch() {
  if [ -f "$HOME_DIR/.complete" ]; then say "Apicurio Registry $APICURIO_VERSION is in $HOME_DIR"; return; fi
  need tar "install tar"
  local from tmp=$HOME_DIR.part.$$ tarball; from=$(now_ms)
  say "resolving io.apicurio:apicurio-registry-app:$APICURIO_VERSION:tar.gz:all with Maven (about 150 MiB)"
  rm -rf -- "$tmp"; mkdir -p -- "$tmp/app"
  if ! mvn_run "$HERE/poms/registry/pom.xml" "$DEPENDENCY_PLUGIN:copy-dependencies" \
      "-Dapicurio.version=$APICURIO_VERSION" "-DoutputDirectory=$tmp/dl"; then
    rm -rf -- "$tmp"; die "Maven could not resolve Apicurio Registry $APICURIO_VERSION (see above)"
  fi
  (check_sums "$tmp/dl" "apicurio-$APICURIO_VERSION") || { rm -rf -- "$tmp"; exit 1; }
  tarball=$tmp/dl/apicurio-registry-app-$APICURIO_VERSION-all.tar.gz
  tar -xzf "$tarball" -C "$tmp/app" || { rm -rf -- "$tmp"; die "the archive could not be unpacked"; }
  rm -rf -- "$tmp/dl"; touch "$tmp/.complete"
  rm -rf -- "$HOME_DIR"; mv -- "$tmp" "$HOME_DIR"
  say "fetched in $(( $(now_ms) - from )) ms to $HOME_DIR"
}

start() {
  local pid from
  need_java 17
  [ -f "$HOME_DIR/.complete" ] || die "Apicurio Registry $APICURIO_VERSION is not in $HOME_DIR; run '$PROG fetch' first"
  if alive "$PIDFILE" "$MARKER" >/dev/null; then say "already runs: http://127.0.0.1:$REGISTRY_PORT$API"; return; fi
  need_free_port "$REGISTRY_PORT" "schema registry" REGISTRY_PORT
  mkdir -p -- "$RUN_DIR"; from=$(now_ms)
  # shellcheck disable=SC2086
  nohup "$JAVA" "-Xmx$REGISTRY_HEAP" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ${REGISTRY_JVM_OPTS:-} "$MARKER" \
    -Dquarkus.http.host=127.0.0.1 "-Dquarkus.http.port=$REGISTRY_PORT" \
    ${KEPT:+"$KEPT"} \
    -Dquarkus.log.level=WARN '-Dquarkus.log.category."io.apicurio.common.apps.logging.audit".level=WARN' -Dquarkus.log.console.json=false \
    -jar "$(runner "$HOME_DIR/app")" < /dev/null > "$RUN_DIR/registry.log" 2>&1 &
  pid=$!; disown "$pid" 2>/dev/null; printf '%s\n' "$pid" > "$PIDFILE"
  local until=$(( from + START_TIMEOUT * 1000 ))
  until [ "$(http_status "$REGISTRY_PORT" "$API/subjects")" = 200 ]; do
    if ! alive "$PIDFILE" "$MARKER" >/dev/null; then
      tail -n 20 -- "$RUN_DIR/registry.log" >&2; rm -f -- "$PIDFILE"
      die "the registry ended while starting; its log is $RUN_DIR/registry.log"
    fi
    [ "$(now_ms)" -lt "$until" ] || die "the registry is not ready after ${START_TIMEOUT}s; its log is $RUN_DIR/registry.log"
    sleep 0.2
  done
  say "ready after $(( $(now_ms) - from )) ms (pid $pid, RSS $(rss_mb "$pid") MiB)"
  say "http://127.0.0.1:$REGISTRY_PORT$API"
}

case ${1:-} in
  fetch) fetch ;;
  fetched) [ -f "$HOME_DIR/.complete" ] ;;
  start) start ;;
  stop) stop_pid "the registry" "$PIDFILE" "$MARKER" ;;
  clean) ! alive "$PIDFILE" "$MARKER" >/dev/null || die "it runs: stop it first"; rm -rf -- "$DATA" ;;
  kill) signal_pid "the registry" "$PIDFILE" "$MARKER" KILL ;;
  pause) signal_pid "the registry" "$PIDFILE" "$MARKER" STOP ;;
  resume) signal_pid "the registry" "$PIDFILE" "$MARKER" CONT ;;
  status)
    if pid=$(alive "$PIDFILE" "$MARKER"); then say "http://127.0.0.1:$REGISTRY_PORT$API pid $pid RSS $(rss_mb "$pid") MiB"
    else say "not running"; exit 3; fi ;;
  *) sed -n '2,/^PROG/{/^PROG/d;s/^# \{0,1\}//;p;}' "$0"; [ -z "${1:-}" ] || exit 2 ;;
esac
