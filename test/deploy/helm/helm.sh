#!/usr/bin/env bash
# helm.sh [FLAG…]: the chart as `helm template` renders it, with texts instead of the files of a configuration. HELM names the program
# (default: helm). After a change of the chart: test/deploy/helm/helm.sh >test/deploy/helm/rendered.yaml, and
# test/deploy/helm/helm.sh --values test/deploy/helm/values-full.yaml >test/deploy/helm/rendered-full.yaml
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
exec "${HELM:-helm}" template signalbox deploy/helm/signalbox --kube-version 1.32.0 --set configuration.routes=routes \
  --set 'configuration.policies.eu-residency\.rego=policy' --set 'configuration.policies.lib/workspace\.rego=library' "$@"
