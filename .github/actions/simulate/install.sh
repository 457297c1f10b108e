#!/usr/bin/env bash
# Puts Signalbox in place and says where its main file is: the package of INPUT_VERSION, or the checkout that this action stands in.
set -euo pipefail

# Outside of the workspace, and the only folder that the action keeps between jobs.
export npm_config_cache="$RUNNER_TEMP/signalbox-npm"

action="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

if [ -z "${INPUT_VERSION:-}" ]; then
  root="$(cd "$action/../../.." && pwd)"
  # Without the development dependencies: the sources run as they are, on the Node that the lockfile brings.
  (cd "$root" && npm ci --omit=dev --no-audit --no-fund)
  main="$root/src/main.ts"
else
  # A range, a tag, an address or an option would install something else than what was reviewed.
  if ! [[ "$INPUT_VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
    echo "::error title=Signalbox::The input version must be one exact version, such as 1.2.3" >&2
    exit 1
  fi
  # Outside of the workspace, where neither an .npmrc nor a node_modules of the pull request is looked at.
  folder="$RUNNER_TEMP/signalbox-package"
  mkdir -p "$folder"
  (cd "$folder" && npm install --no-save --no-audit --no-fund --prefix "$folder" "signalbox@$INPUT_VERSION")
  main="$folder/node_modules/signalbox/dist/main.js"
fi

echo "main=$main" >>"$GITHUB_OUTPUT"
