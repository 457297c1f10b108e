import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { randomBytes } from "node:crypto";
import type { NewKey } from "../../src/canon/credentials/service-key.ts";
import type { Scope } from "../../src/canon/identity.ts";
import { startServer } from "../../src/server/start.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import { createKey } from "../../src/keys/key-record.ts";
import { TEST_CACHE } from "./cache.ts";
import { whenFileEnds } from "./file-end.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * A whole server on a copy of the repository's own routes.yaml and policies, with a store of its
 * own and simulated providers.
 */
export interface TestServer {
  readonly server: RunningServer;
  /** Folder of the copy; tests may edit it and reload. */
  readonly folder: string;
  key(workspace: string, scopes: readonly Scope[], more?: Partial<NewKey>): Promise<string>;
}

/** @param proxies variables of a forward proxy. */
export async function startTestServer(
  edit: (routes: string) => string = (routes) => routes,
  proxies: Readonly<Record<string, string>> | null = null,
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-"));
  whenFileEnds(() => Promise.resolve(rmSync(folder, { recursive: true, force: true })));
  cpSync(join(ROOT, "policies"), join(folder, "policies"), { recursive: true });
  writeFileSync(join(folder, "routes.yaml"), edit(readFileSync(join(ROOT, "routes.yaml"), "utf8")));
  const started = await startServer(
    {
      config: join(folder, "routes.yaml"),
      database: join(folder, "signalbox.db"),
      host: "127.0.0.1",
      port: 0,
      adminHost: "127.0.0.1",
      adminPort: 0,
      demo: false,
      drain: 2_000,
      watch: false,
      cache: TEST_CACHE,
      egressProxy: proxies !== null,
    },
    proxies ?? {},
    "0.0.0-test",
  );
  if (!started.ok)
    throw new Error(`the test configuration has errors: ${JSON.stringify(started.diagnostics)}`);
  const { server } = started;
  whenFileEnds(() => server.close());
  const key = async (
    workspace: string,
    scopes: readonly Scope[],
    { expiresAt = Date.now() + 60_000, limits = null }: Partial<NewKey> = {},
  ): Promise<string> => {
    const made = createKey(
      { workspace, scopes, owner: "test", expiresAt, limits, createdBy: "test" },
      Date.now,
      randomBytes,
    );
    await server.store.keys.create(made.record);
    return made.text;
  };
  return { server, folder, key };
}
