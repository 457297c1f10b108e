import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { RunningServer, ServeOptions } from "../../src/server/running-server.ts";
import { startServer } from "../../src/server/start.ts";
import type { ServerLimits } from "../../src/http/capacity.ts";
import type { NewKey } from "../../src/canon/credentials/service-key.ts";
import { createKey } from "../../src/keys/key-record.ts";
import type { Scope } from "../../src/canon/identity.ts";
import type { Store } from "../../src/store/port.ts";
import { fixture } from "../replicas/fixture.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { TEST_CACHE } from "../support/cache.ts";

export interface Fixture {
  readonly folder: string;
  readonly database: string;
  readonly config: string;
}

/** routes.yaml over one provider, in a folder that ends with the test. */
export function writeFixture(
  upstream: string,
  edit: (value: object) => object = (value) => value,
): Fixture {
  const folder = temporaryFolder();
  const config = join(folder, "routes.yaml");
  writeFileSync(config, JSON.stringify(edit(fixture(upstream))));
  return { folder, database: join(folder, "signalbox.db"), config };
}

/** A key for `workspace`; good for ten minutes. */
export async function addKey(
  store: Store,
  workspace = "large",
  scopes: readonly Scope[] = ["inference", "catalogue:read"],
  { limits = null }: Pick<NewKey, "limits"> = {},
): Promise<{ readonly id: string; readonly text: string }> {
  const expiresAt = Date.now() + 600_000;
  const options = {
    workspace,
    scopes,
    owner: "test",
    environment: "production",
    expiresAt,
    createdBy: "test",
    limits,
  };
  const { record, text } = createKey(options, Date.now, randomBytes);
  await store.keys.create(record);
  return { id: record.id, text };
}

/** A server in the test's own process. */
export async function startRunning(
  { config, database }: Fixture,
  more: Partial<ServeOptions> = {},
  limits: Partial<ServerLimits> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const options: ServeOptions = {
    config,
    database,
    host: "127.0.0.1",
    port: 0,
    adminHost: "127.0.0.1",
    adminPort: 0,
    demo: false,
    drain: 2_000,
    watch: false,
    cache: TEST_CACHE,
    ...more,
  };
  const started = await startServer(
    options,
    { PROVIDER_KEY: "provider-key", ...environment },
    "0.0.0-test",
    limits,
  );
  if (!started.ok)
    throw new Error(`the configuration has errors: ${JSON.stringify(started.diagnostics)}`);
  onTestFinished(() => started.server.close());
  return started.server;
}
