import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

/** What can open a connection: modules of Node and libraries. Types alone cannot. */
const CALLS =
  /(?:^|[^.\w#`])fetch[(),]|^import (?!type )[^;]*from "(?:undici|node:(?:http|https|http2|net|tls|dgram|dns)(?:\/promises)?)"|(?:from|import\()\s*"(?:google-auth-library|@aws-sdk\/[^"]+|@smithy\/credential[^"]+|@opentelemetry\/exporter[^"]+|ofetch|postgres)"/m;

/**
 * Each with whom it calls, and by whose choice. A new one must be looked at: may a caller or a
 * provider choose the address?
 */
const KNOWN: Readonly<Record<string, string>> = {
  "src/cli/terminal/call-server.ts": "a command: the server that its user names",
  "src/cli/serve/serve.ts": "this server itself, where --traffic is given",
  "src/cli/serve/options.ts": "calls none: reads the address to listen at",
  "src/server/tls.ts": "calls none: reads the certificate",
  "src/dispatch/provider-client.ts": "providers, by routes.yaml, each address judged",
  "src/dispatch/connections.ts": "providers, by routes.yaml, through the former",
  "src/dispatch/credentials/authorize.ts":
    "AWS, by the environment; Google, by the operator's credentials file",
  "src/dispatch/fetch-json.ts":
    "issuers of workloads, by routes.yaml and their discovery document, each address judged, no redirect followed",
  "src/dispatch/endpoint-tracker.ts": "providers, by routes.yaml, through the connections of calls",
  "src/dispatch/egress-proxy.ts":
    "the forward proxy, by the environment, where --egress-proxy is given",
  "src/dispatch/failures.ts": "calls none: knows the client's errors",
  "src/keys/oidc-client.ts":
    "the identity provider, by routes.yaml and its discovery document, bounded in bytes and time",
  "src/network/address.ts": "calls none: judges addresses",
  "src/store/postgres/pool.ts": "the database, by the environment or a flag",
  "src/store/postgres/settings.ts": "calls none: reads addresses",
  "src/store/sqlite/shared/shared-thread.ts":
    "the first process of this server, at the address that it gave its worker",
  "src/store/sqlite/shared/store-door.ts":
    "calls none: listens for this server's workers, which prove a secret",
  "src/telemetry/open-otlp.ts": "the collector, by the environment",
};

it("only listed modules make calls, so that a caller's URL is never fetched", () => {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts"),
  );
  const found = files
    .filter((name) => {
      const text = readFileSync(join(ROOT, "src", name), "utf8");
      // Lines of types go first: they are on many files and open nothing.
      return CALLS.test(text.replaceAll(/^import type [^;]*;/gm, ""));
    })
    .map((name) => relative(ROOT, join(ROOT, "src", name)).replaceAll("\\", "/"));
  expect(found.toSorted()).toEqual(Object.keys(KNOWN).toSorted());
});
