# docker build --tag signalbox .        See docs/deployment.md.
# The same Node for building and for running; a digest behind the tag pins it further (node:…@sha256:…).
ARG NODE=node:26.10.0-trixie-slim

FROM ${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY mock/package.json mock/
COPY tools/node/package.json tools/node/
COPY tools/postgres/package.json tools/postgres/
RUN npm ci --ignore-scripts --no-audit
COPY . .
RUN npm run -s build

# What runs: the versions of the lockfile, nothing of development, no script of any package.
FROM ${NODE} AS dependencies
WORKDIR /opt/signalbox
COPY package.json package-lock.json .npmrc ./
COPY mock/package.json mock/
COPY tools/node/package.json tools/node/
COPY tools/postgres/package.json tools/postgres/
RUN npm ci --omit=dev --workspaces=false --ignore-scripts --no-audit && rm -r mock tools

FROM ${NODE}
LABEL org.opencontainers.image.title="signalbox" org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /opt/signalbox
COPY --from=dependencies /opt/signalbox ./
COPY LICENSE THIRD-PARTY-NOTICES sbom.cdx.json routes.yaml ./
COPY schemas schemas
COPY policies policies
COPY policy-library policy-library
COPY tools/rego/dist tools/rego/dist
COPY --from=build /build/dist dist
# The store, where it is SQLite, and the compiled policies: the only folder that is written. Everything else may be read-only.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/signalbox
USER 10001:10001
WORKDIR /var/lib/signalbox
VOLUME /var/lib/signalbox
# Compiled policies and the secret that authenticates them. The user 10001 has no home folder.
ENV XDG_CACHE_HOME=/var/lib/signalbox/cache
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8081/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/signalbox/dist/main.js"]
# A container listens on all its addresses. --behind-proxy: publish the port to a proxy that ends TLS, to nobody else.
# The admin port must be reachable for probes and scrapes from beside the container: do not publish it.
CMD ["serve", "--config", "/etc/signalbox/routes.yaml", "--host", "0.0.0.0", "--behind-proxy", "--port", "8080", "--admin-host", "0.0.0.0", "--admin-port", "8081", "--log-format", "json"]
