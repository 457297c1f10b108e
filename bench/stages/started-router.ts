import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../../src/http/runtime.ts";
import { createKey } from "../../src/keys/key-record.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import { startServer } from "../../src/server/start.ts";

const ROOT = join(import.meta.dirname, "../..");
const DAY = 86_400_000;

/** A router in this process, with everything on, and what its requests are handled with. */
export interface StartedRouter {
  readonly server: RunningServer;
  readonly runtime: Runtime;
  /** A service key with the scope `inference`. */
  readonly key: string;
}

/**
 * @param upstream origin of the providers. @param folder for the configuration and the database.
 */
export async function startRouter(upstream: string, folder: string): Promise<StartedRouter> {
  mkdirSync(folder, { recursive: true });
  cpSync(join(ROOT, "policies"), join(folder, "policies"), { recursive: true });
  const routes = readFileSync(join(ROOT, "bench/subjects/routes.yaml"), "utf8");
  const config = join(folder, "routes.yaml");
  writeFileSync(config, routes.replaceAll("http://127.0.0.1:1/v1", `${upstream}/v1`));
  let runtime: Runtime | null = null;
  const options = {
    config,
    database: join(folder, "signalbox.db"),
    host: "127.0.0.1",
    port: 0,
    adminHost: "127.0.0.1",
    adminPort: 0,
    demo: false,
    drain: 1_000,
    watch: false,
    cache: null,
  };
  const environment = { SIGNALBOX_BENCH_SECRET: "upstream" };
  const started = await startServer(
    options,
    environment,
    "bench",
    {},
    { runtime: (own) => (runtime = own) },
  );
  if (!started.ok) throw new Error("bench: the configuration has errors");
  if (runtime === null) throw new Error("bench: the server has made no runtime");
  const { text, record } = createKey(
    {
      workspace: "bench",
      scopes: ["inference"],
      owner: "bench",
      expiresAt: Date.now() + DAY,
      createdBy: "bench",
    },
    Date.now,
    randomBytes,
  );
  await started.server.store.keys.create(record);
  // Its own store notifies the ring of the key.
  while (!runtimeOf(runtime).verify(text, Date.now()).ok)
    await new Promise((resolve) => setTimeout(resolve, 5));
  return { server: started.server, runtime, key: text };
}

/** TypeScript does not see the assignment in the callback. */
function runtimeOf(runtime: Runtime): Runtime {
  return runtime;
}
