#!/usr/bin/env bash
# helm.sh [FLAG…]: the chart with deploy/configuration as `helm template` renders it. HELM names the program (default: helm).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
from=deploy/configuration
exec "${HELM:-helm}" template signalbox deploy/helm/signalbox --kube-version 1.32.0 --set-file "configuration.routes=$from/routes.yaml" \
  --set-file "configuration.policies.eu-residency\.rego=$from/policies/eu-residency.rego" \
  --set-file "configuration.policies.eu-residency_test\.rego=$from/policies/eu-residency_test.rego" \
  --set-file "configuration.policies.lib/workspace\.rego=$from/policies/lib/workspace.rego" "$@"
