/**
 * Every block that no test runs, with its reason, as a person has looked at it:
 * `page: first line: reason`, in the order of the pages.
 */
export const NOT_EXECUTED: readonly string[] = [
  "docs/coding-agents.md: export ANTHROPIC_BASE_URL=http://127.0.0.1:8080/api: needs Claude Code",
  "docs/deployment.md: docker build --file deploy/Dockerfile --tag signalbox .: needs a Docker daemon",
  "docs/deployment.md: npm ci && deploy/image/build.sh: takes a minute, and needs Debian",
  "docs/deployment.md: kubectl create namespace signalbox: needs a cluster",
  "docs/deployment.md: helm install signalbox deploy/helm/signalbox --namespace signalbox --set image.repository=registry.example/signalbox \\: needs a cluster",
  "docs/how-we-know.md: git clone --depth 1 --branch v1.22.0 https://github.com/open-policy-agent/opa: downloads OPA's cases",
  "docs/how-we-know.md: npm run bench                 # about four minutes: takes minutes",
  'docs/keys.md: curl -sS "$SIGNALBOX/v1/credentials/exchange" \\: needs a pod with a projected token',
  "docs/keys.md: kubectl get --raw /openid/v1/jwks > edge.json: needs a cluster",
];
