#!/usr/bin/env bash
# Throws generated requests at a running service and holds every answer to its OpenAPI document: no 5xx, nothing that isn't documented.
# schemathesis comes from PyPI into .tmp (Python >= 3.10 with venv); the service runs on a data folder of its own. Further arguments go to schemathesis:
#   test/docs/schemathesis.sh --max-examples 500
# The streams are left out: they don't end. test/docs/answers.test.ts has them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH="$PWD/node_modules/.bin:$PATH"

version=4.32.5
tools=".tmp/schemathesis-$version"
if [ ! -x "$tools/bin/schemathesis" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet "schemathesis==$version"
fi

work="$(mktemp -d)"
export NODE_ENV=development HOST=127.0.0.1 PORT="${PORT:-3967}" OPS_PORT=0 DATA_DIR="$work/data" RATE_LIMIT=1000000/1s LOG_LEVEL=warn
node --max-semi-space-size=8 bin/herald.js serve >"$work/log" 2>&1 &
service=$!
stop() {
  kill "$service" 2>/dev/null || true
  wait "$service" || true
  rm -rf "$work"
}
trap stop EXIT

api="http://127.0.0.1:$PORT"
for _ in $(seq 100); do
  curl --silent --fail --output "$work/openapi.json" "$api/openapi.json" && break
  sleep 0.2
done
token="$(node bin/herald.js token)"
# A further key: the main one is replaced by the calls of regenerate-key.
key="$(curl --silent --fail "$api/api/v1/keys" -H "authorization: Bearer $token" -H 'content-type: application/json' \
  --data '{"name":"schemathesis","scopes":["notify","inbox","read"]}' | node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).key')"

checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
checks+=,negative_data_rejection,missing_required_header,unsupported_method,allow_header_conformance,ignored_auth
cat >"$work/schemathesis.toml" <<TOML
[auth.openapi]
apiKey = { api_key = "$key" }
bearer = { bearer = "$token" }
TOML
failed=0
root="$PWD"
cd "$work"
"$root/$tools/bin/schemathesis" --config-file schemathesis.toml run "$api/openapi.json" --url "$api/api/v1" \
  --exclude-path-regex 'stream$' --checks "$checks" --max-examples 30 --continue-on-failure --request-timeout 20 --no-color "$@" || failed=$?
# What the service says of itself: a 500 leaves a line.
if grep -q '"level":"\?\(error\|50\)' "$work/log"; then
  grep '"level":"\?\(error\|50\)' "$work/log" | head
  failed=1
fi
kill -0 "$service" || failed=1
exit "$failed"
