#!/usr/bin/env bash
# Real Apache Kafka (KRaft, no ZooKeeper) from Maven Central, for tests and benchmarks on one machine.
#
#   kafka.sh fetch            download the server's jars (once; later calls do nothing)
#   kafka.sh fetched          whether it was (exit code)
#   kafka.sh start            one combined broker+controller   -> 127.0.0.1:$KAFKA_PORT
#   kafka.sh stop             stop it cleanly
#   kafka.sh start-cluster    three combined nodes, RF 3, min.insync.replicas 2
#                             -> 127.0.0.1:$KAFKA_CLUSTER_PORT, +1, +2
#   kafka.sh stop-cluster     stop all three cleanly
#   kafka.sh kill [N]         kill -9 the single broker, or node N (1, 2, 3) of the cluster
#   kafka.sh pause [N] / resume [N]   SIGSTOP and SIGCONT: it hangs, its connections stay open
#   kafka.sh start-node N     (re)start node N of the cluster, e.g. after kill
#   kafka.sh stop-node N      stop node N of the cluster cleanly
#   kafka.sh status           what runs, with pid and memory
#   kafka.sh clean            remove the data of everything that is not running (jars stay)
#
# Environment (defaults): ENGINES_DIR=<project>/.engines  ENGINES_RUN_DIR=$ENGINES_DIR  KAFKA_HEAP=512m
#   KAFKA_PORT=19092  KAFKA_CONTROLLER_PORT=19093
#   KAFKA_CLUSTER_PORT=19094 (brokers 19094-19096)  KAFKA_CLUSTER_CONTROLLER_PORT=19097 (19097-19099)
#   KAFKA_FRESH=1 (start with empty data)  KAFKA_AUTO_CREATE=false  KAFKA_REBALANCE_DELAY_MS=0
#   KAFKA_BROKER_SESSION_MS=4000 (how long a killed broker counts as alive; Kafka's own default is 9000)
#   of the single broker: KAFKA_LISTENERS='SASL_SSL://127.0.0.1:PORT,SSL://...' (beside the plaintext one, named by protocol;
#   KAFKA_EXTRA_CONF sets them up)  KAFKA_SCRAM_USERS='SCRAM-SHA-256=[name=...,password=...] lines' (made with its data)
#   KAFKA_LOG_LEVEL=warn  KAFKA_EXTRA_CONF='key=value lines'  START_TIMEOUT=240
#   KAFKA_JVM_OPTS='-XX:+UseG1GC -XX:MaxGCPauseMillis=20' (beside the heap)
PROG=kafka.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# 4.4.0 on Maven Central cannot be resolved.
KAFKA_VERSION=4.3.1
KAFKA_HEAP=${KAFKA_HEAP:-512m}
KAFKA_JVM_OPTS=${KAFKA_JVM_OPTS:--XX:+UseG1GC -XX:MaxGCPauseMillis=20}
KAFKA_PORT=${KAFKA_PORT:-19092}
KAFKA_CONTROLLER_PORT=${KAFKA_CONTROLLER_PORT:-19093}
KAFKA_CLUSTER_PORT=${KAFKA_CLUSTER_PORT:-19094}
KAFKA_CLUSTER_CONTROLLER_PORT=${KAFKA_CLUSTER_CONTROLLER_PORT:-19097}
START_TIMEOUT=${START_TIMEOUT:-240}

HOME_DIR=$ENGINES_DIR/kafka-$KAFKA_VERSION
RUN_DIR=$ENGINES_RUN_DIR/kafka-run

# ---- a node is one of: single, 1, 2, 3 -------------------------------------------------------
node_dir() { if [ "$1" = single ]; then echo "$RUN_DIR/single"; else echo "$RUN_DIR/cluster-$1"; fi; }
node_pidfile() { echo "$(node_dir "$1")/kafka.pid"; }
# stands on the java command line, so a pid file can be checked against it
node_marker() { echo "-Dengines.node=$(node_dir "$1")"; }
node_port() { if [ "$1" = single ]; then echo "$KAFKA_PORT"; else echo $((KAFKA_CLUSTER_PORT + $1 - 1)); fi; }
node_controller_port() {
  if [ "$1" = single ]; then echo "$KAFKA_CONTROLLER_PORT"; else echo $((KAFKA_CLUSTER_CONTROLLER_PORT + $1 - 1)); fi
}
node_name() { if [ "$1" = single ]; then echo "broker"; else echo "node $1"; fi; }
node_alive() { alive "$(node_pidfile "$1")" "$(node_marker "$1")"; }
check_node() { case ${1:-} in 1|2|3) ;; *) die "which node? give 1, 2 or 3" ;; esac; }

fetch() {
  if [ -f "$HOME_DIR/.complete" ]; then say "Kafka $KAFKA_VERSION is in $HOME_DIR"; return; fi
  local from tmp=$HOME_DIR.part.$$; from=$(now_ms)
  say "resolving org.apache.kafka:kafka_2.13:$KAFKA_VERSION with Maven"
  rm -rf -- "$tmp"; mkdir -p -- "$tmp/libs"
  if ! mvn_run "$HERE/poms/kafka/pom.xml" "$DEPENDENCY_PLUGIN:copy-dependencies" "-Dkafka.version=$KAFKA_VERSION" \
      "-DoutputDirectory=$tmp/libs" -DincludeScope=runtime; then
    rm -rf -- "$tmp"; die "Maven could not resolve Kafka $KAFKA_VERSION (see above)"
  fi
  (check_sums "$tmp/libs" "kafka-$KAFKA_VERSION") || { rm -rf -- "$tmp"; exit 1; }
  touch "$tmp/.complete"
  rm -rf -- "$HOME_DIR"; mv -- "$tmp" "$HOME_DIR"
  say "fetched $(find "$HOME_DIR/libs" -name '*.jar' | wc -l | tr -d ' ') jars in $(( $(now_ms) - from )) ms to $HOME_DIR"
}

need_jars() { [ -f "$HOME_DIR/.complete" ] || die "Kafka $KAFKA_VERSION is not in $HOME_DIR; run '$PROG fetch' first"; }

write_config() { # write_config NODE
  local n=$1 dir id voters rf isr i further=${KAFKA_LISTENERS:+,$KAFKA_LISTENERS}; dir=$(node_dir "$n")
  if [ "$n" = single ]; then
    id=1 rf=1 isr=1 voters="1@127.0.0.1:$KAFKA_CONTROLLER_PORT"
  else
    id=$n rf=3 isr=2 voters=
    for i in 1 2 3; do voters="$voters${voters:+,}$i@127.0.0.1:$(node_controller_port "$i")"; done
  fi
  cat > "$dir/server.properties" <<CONF
process.roles=broker,controller
node.id=$id
controller.quorum.voters=$voters
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$(node_port "$n"),CONTROLLER://127.0.0.1:$(node_controller_port "$n")$further
advertised.listeners=PLAINTEXT://127.0.0.1:$(node_port "$n")$further
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
log.dirs=$dir/data
num.partitions=1
default.replication.factor=$rf
min.insync.replicas=$isr
auto.create.topics.enable=${KAFKA_AUTO_CREATE:-false}
delete.topic.enable=true
offsets.topic.replication.factor=$rf
offsets.topic.num.partitions=${KAFKA_OFFSETS_PARTITIONS:-8}
transaction.state.log.replication.factor=$rf
transaction.state.log.min.isr=$isr
transaction.state.log.num.partitions=${KAFKA_OFFSETS_PARTITIONS:-8}
share.coordinator.state.topic.replication.factor=$rf
share.coordinator.state.topic.min.isr=$isr
share.coordinator.state.topic.num.partitions=${KAFKA_OFFSETS_PARTITIONS:-8}
group.initial.rebalance.delay.ms=${KAFKA_REBALANCE_DELAY_MS:-0}
broker.session.timeout.ms=${KAFKA_BROKER_SESSION_MS:-4000}
broker.heartbeat.interval.ms=500
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
${KAFKA_EXTRA_CONF:-}
CONF
}

java_common() { # sets JVM to the options every Kafka process here gets
  local cp="$HOME_DIR/libs/*"
  JVM=(-cp "$cp" -Djava.awt.headless=true "-Dkafka.log.level=${KAFKA_LOG_LEVEL:-warn}"
    "-Dlog4j2.configurationFile=file:$HERE/conf/log4j2.properties")
}

cluster_id() { # cluster_id NODE -> the id that this data has or will have
  local file id
  if [ "$1" = single ]; then file=$RUN_DIR/single.id; else file=$RUN_DIR/cluster.id; fi
  if [ ! -s "$file" ]; then
    id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'Ab' | tr -d '=\n')
    printf '%s\n' "$id" > "$file"
  fi
  cat -- "$file"
}

format_node() { # format_node NODE   (only when its data folder was never formatted)
  local n=$1 dir out user; local -a users=(); dir=$(node_dir "$n")
  [ ! -f "$dir/data/meta.properties" ] || return 0
  mkdir -p -- "$dir/data"
  while read -r user; do [ -z "$user" ] || users+=(--add-scram "$user"); done <<< "${KAFKA_SCRAM_USERS:-}"
  if ! out=$("$JAVA" -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "${JVM[@]}" kafka.tools.StorageTool format \
      --cluster-id "$(cluster_id "$n")" --config "$dir/server.properties" ${users[@]+"${users[@]}"} 2>&1); then
    printf '%s\n' "$out" | tail -n 15 >&2
    die "formatting the storage of $(node_name "$n") failed"
  fi
}

launch() { # launch NODE   (returns at once)
  local n=$1 dir pid; dir=$(node_dir "$n")
  need_free_port "$(node_port "$n")" "$(node_name "$n")" "$([ "$n" = single ] && echo KAFKA_PORT || echo KAFKA_CLUSTER_PORT)"
  need_free_port "$(node_controller_port "$n")" "controller of $(node_name "$n")" \
    "$([ "$n" = single ] && echo KAFKA_CONTROLLER_PORT || echo KAFKA_CLUSTER_CONTROLLER_PORT)"
  [ ! -f "$dir/server.log" ] || mv -f -- "$dir/server.log" "$dir/server.log.1"
  # shellcheck disable=SC2086
  nohup "$JAVA" "-Xms$KAFKA_HEAP" "-Xmx$KAFKA_HEAP" $KAFKA_JVM_OPTS "${JVM[@]}" \
    "$(node_marker "$n")" kafka.Kafka "$dir/server.properties" < /dev/null > "$dir/server.log" 2>&1 &
  pid=$!
  disown "$pid" 2>/dev/null
  printf '%s\n' "$pid" > "$dir/kafka.pid"
}

wait_ready() { # wait_ready NODE FROM_MS
  local n=$1 from=$2 dir pid; dir=$(node_dir "$n")
  local until=$(( from + START_TIMEOUT * 1000 ))
  while :; do
    if ! pid=$(node_alive "$n"); then
      tail -n 20 -- "$dir/server.log" >&2
      rm -f -- "$dir/kafka.pid"
      die "$(node_name "$n") ended while starting; its log is $dir/server.log"
    fi
    # the line comes only after the broker is unfenced, that is when it may take requests
    if grep -q 'Kafka Server started' "$dir/server.log" && port_open "$(node_port "$n")"; then break; fi
    [ "$(now_ms)" -lt "$until" ] || die "$(node_name "$n") is not ready after ${START_TIMEOUT}s; its log is $dir/server.log"
    sleep 0.1
  done
  say "$(node_name "$n") ready on 127.0.0.1:$(node_port "$n") after $(( $(now_ms) - from )) ms (pid $pid, RSS $(rss_mb "$pid") MiB)"
}

start_nodes() { # start_nodes NODE...
  local n from dir; local -a todo=()
  need_java 17; need_jars; java_common
  mkdir -p -- "$RUN_DIR"; from=$(now_ms)
  for n in "$@"; do
    if node_alive "$n" >/dev/null; then say "$(node_name "$n") already runs on 127.0.0.1:$(node_port "$n")"; continue; fi
    dir=$(node_dir "$n")
    [ "${KAFKA_FRESH:-0}" != 1 ] || rm -rf -- "$dir/data"
    mkdir -p -- "$dir"; write_config "$n"; format_node "$n"
    todo+=("$n")
  done
  for n in ${todo[@]+"${todo[@]}"}; do launch "$n"; done
  for n in ${todo[@]+"${todo[@]}"}; do wait_ready "$n" "$from"; done
}

stop_node() { stop_pid "$(node_name "$1")" "$(node_pidfile "$1")" "$(node_marker "$1")"; }

stop_cluster() {
  # All get SIGTERM together. A combined node's broker waits (up to five minutes) for an answer of the
  # controller quorum before it leaves, and the last one has no quorum any more: once it is alone it is
  # killed. Its log is recovered at the next start, and the two others have left cleanly.
  local n pid left until alone=0; local -a was=()
  for n in 1 2 3; do if pid=$(node_alive "$n"); then kill -TERM "$pid" 2>/dev/null; was+=("$n"); fi; done
  [ "${#was[@]}" -gt 0 ] || { say "the cluster is not running"; return 0; }
  until=$(( $(now_ms) + STOP_TIMEOUT * 1000 ))
  while :; do
    left=0; for n in "${was[@]}"; do ! node_alive "$n" >/dev/null || left=$((left + 1)); done
    [ "$left" -gt 0 ] || break
    if [ "$left" = 1 ] && [ "$alone" = 0 ]; then alone=$(now_ms); fi
    if [ "$(now_ms)" -ge "$until" ] || { [ "$alone" -gt 0 ] && [ "$(now_ms)" -ge $((alone + 2000)) ]; }; then
      for n in "${was[@]}"; do
        if pid=$(node_alive "$n"); then kill -KILL "$pid" 2>/dev/null; say "node $n had no quorum left to sign off with: killed (pid $pid)"; fi
      done
      alone=$(now_ms)
    fi
    sleep 0.1
  done
  for n in 1 2 3; do rm -f -- "$(node_pidfile "$n")"; done
  say "the cluster is stopped"
}

signal_node() { # signal_node SIGNAL [NODE]
  local n=${2:-single}
  [ "$n" = single ] || check_node "$n"
  signal_pid "$(node_name "$n")" "$(node_pidfile "$n")" "$(node_marker "$n")" "$1"
}

status() {
  local n pid some=0
  for n in single 1 2 3; do
    if pid=$(node_alive "$n"); then
      some=1; say "$(node_name "$n"): 127.0.0.1:$(node_port "$n") pid $pid RSS $(rss_mb "$pid") MiB"
    fi
  done
  [ "$some" = 1 ] || { say "nothing is running"; return 3; }
}

clean() {
  local n
  node_alive single >/dev/null || rm -rf -- "$RUN_DIR/single" "$RUN_DIR/single.id"
  if node_alive 1 >/dev/null || node_alive 2 >/dev/null || node_alive 3 >/dev/null; then
    say "the cluster is running: its data stays"
  else
    for n in 1 2 3; do rm -rf -- "$(node_dir "$n")"; done; rm -f -- "$RUN_DIR/cluster.id"
  fi
}

case ${1:-} in
  fetch) need_java 17; fetch ;;
  fetched) [ -f "$HOME_DIR/.complete" ] ;;
  start) start_nodes single ;;
  stop) stop_node single ;;
  start-cluster) start_nodes 1 2 3 ;;
  stop-cluster) stop_cluster ;;
  kill) signal_node KILL "${2:-}" ;;
  pause) signal_node STOP "${2:-}" ;;
  resume) signal_node CONT "${2:-}" ;;
  start-node) check_node "${2:-}"; start_nodes "$2" ;;
  stop-node) check_node "${2:-}"; stop_node "$2" ;;
  status) status ;;
  clean) clean ;;
  *) sed -n '2,/^PROG/{/^PROG/d;s/^# \{0,1\}//;p;}' "$0"; [ -z "${1:-}" ] || exit 2 ;;
esac
