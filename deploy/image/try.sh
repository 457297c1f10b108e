#!/usr/bin/env bash
# try.sh [LAYOUT]: starts the image of a layout (default: .signalbox/image) and looks at what it does: /status answers 200, a request is
# answered, nothing is written outside of the volume, SIGTERM ends it with 0. Runs it by runc, else crun, else chroot. Needs root.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
layout=$(cd "${1:-$root/.signalbox/image}" && pwd)
node=("$root"/node_modules/node-linux-*/bin/node)
[ "$(id -u)" = 0 ] || { echo "skipped: starting another user's process needs root"; exit 0; }

# Two free ports: those of the image may be in use.
read -r PORT ADMIN_PORT < <("${node[0]}" -e '
  const [one, two] = [0, 0].map(() => require("node:net").createServer().listen(0, "127.0.0.1"));
  setTimeout(() => { console.log(one.address().port, two.address().port); one.close(); two.close(); }, 50);')
export PORT ADMIN_PORT
url=http://127.0.0.1:$PORT

room=$(mktemp -d)
server=
ended() {
  if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
  if [ -n "${run[*]:-}" ]; then "${run[@]}" delete --force try 2>/dev/null || true; fi
  rm -rf "$room"
}
trap ended EXIT
mkdir -p "$room/rootfs" "$room/state" "$room/probe"
"${node[0]}" "$root/deploy/image/unpack.mjs" "$layout" "$room"
rootfs=$room/rootfs

# A configuration that needs no provider: secrets that are missing are simulated.
mkdir -p "$room/etc" "$room/data" && cp -r "$root/policies" "$root/routes.yaml" "$room/etc"
chmod -R go+rX "$room" && chown 10001:10001 "$room/data" && chmod 700 "$room/data"
touch "$room/marker"

# The first runtime that can start a process of the image here; not every machine lets containers have control groups.
runtime= run=()
for one in runc crun; do
  if [ -z "$runtime" ] && command -v "$one" >/dev/null; then
    run=("$one" --root "$room/state")
    if [ "$one" = crun ]; then run+=(--cgroup-manager=disabled); fi
    if "${run[@]}" run --bundle "$room/probe" probe >/dev/null 2>&1; then runtime=$one; else echo "$one cannot start a container here"; fi
  fi
done
start() {
  if [ -n "$runtime" ]; then
    "${run[@]}" run --bundle "$room" try >"$room/log" 2>&1 &
  else
    runtime=chroot
    mkdir -p "$rootfs/etc/signalbox" && cp -r "$room/etc/." "$rootfs/etc/signalbox"
    chown 10001:10001 "$rootfs/var/lib/signalbox"
    touch "$room/marker"
    # chroot begins in /, not in the folder of the image's configuration, which has the database unless it is named.
    mapfile -t command < <("${node[0]}" "$root/deploy/image/unpack.mjs" --command "$layout")
    env -i PATH=/usr/local/bin XDG_CACHE_HOME=/var/lib/signalbox/cache "$(command -v chroot)" --userspec=10001:10001 "$rootfs" \
      "${command[@]}" --database /var/lib/signalbox/.signalbox/signalbox.db >"$room/log" 2>&1 &
  fi
  server=$!
}
answers() { curl --silent --output /dev/null --write-out '%{http_code}' "$@" || true; }

start
for _ in $(seq 600); do
  status=$(answers "$url/status")
  if [ "$status" = 200 ] || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.2
done
[ "$status" = 200 ] || { echo "/status: $status" >&2; cat "$room/log" >&2; exit 1; }
echo "started by $runtime as user 10001; /status: 200, /readyz: $(answers "http://127.0.0.1:$ADMIN_PORT/readyz")"

if [ "$runtime" = chroot ]; then data=$rootfs/var/lib/signalbox; else data=$room/data; fi
key=$(cat "$data/.signalbox/first-key")
json=(-H 'Content-Type: application/json')
made=$(curl --silent "$url/v1/keys" -H "Authorization: Bearer $key" "${json[@]}" -d '{"scopes": ["inference"], "owner": "try", "expires_in": 3600}')
caller=$("${node[0]}" -p 'JSON.parse(process.argv[1]).key' "$made" 2>/dev/null) || { echo "the first key is not accepted: $made" >&2; exit 1; }
answered=$(answers "$url/v1/chat/completions" -H "Authorization: Bearer $caller" "${json[@]}" \
  -d '{"model": "chat-small", "messages": [{"role": "user", "content": "Hello"}]}')
[ "$answered" = 200 ] || { echo "a chat is not answered: $answered" >&2; cat "$room/log" >&2; exit 1; }
echo "the first key made another one, whose chat was answered by the simulated provider"

written=$(find "$rootfs" -newer "$room/marker" -not -type d -not -path "$rootfs/var/lib/signalbox/*" -not -path "$rootfs/proc/*" -not -path "$rootfs/dev/*")
[ -z "$written" ] || { printf 'written outside of the volume:\n%s\n' "$written" >&2; exit 1; }
echo "written only below /var/lib/signalbox: $(cd "$data" && find . -type f | sort | head -8 | tr '\n' ' ')"

if [ "$runtime" = chroot ]; then kill -TERM "$server"; else "${run[@]}" kill try TERM; fi
code=0
wait "$server" || code=$?
server=
[ "$code" = 0 ] || { echo "SIGTERM: exit code $code" >&2; cat "$room/log" >&2; exit 1; }
echo "SIGTERM: exit code 0"
