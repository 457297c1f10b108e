import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../src/server/start.ts";
import { createKey } from "../src/keys/key-record.ts";

/**
 * A server with a route that works, and two whose first endpoint fails. Health is off, so every
 * request meets the failure.
 */
export async function startTestRoutes(
  origins: Readonly<Record<"working" | "failing" | "closed", string>>,
): Promise<{ readonly url: string; readonly key: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-fallback-"));
  const names = ["working", "failing", "closed"] as const;
  const routes = {
    version: 1,
    regions: { world: ["global"] },
    providers: Object.fromEntries(
      names.map((name) => [
        name,
        {
          dialect: "openai-chat",
          base_url: `${origins[name]}/v1`,
          network: "private",
          region: "global",
          auth: "none",
          retention: "none",
          trains_on_data: false,
          health: { consecutive_failures: 0, failure_ratio: 0 },
        },
      ]),
    ),
    models: { m: { operations: ["generate"] } },
    endpoints: names.map((name) => ({
      id: name,
      model: "m",
      provider: name,
      upstream_model: "m",
      price: { input: 1, output: 1 },
    })),
    routes: {
      plain: { primary: "working" },
      "after-500": { primary: "failing", fallbacks: ["working"] },
      "after-refused": { primary: "closed", fallbacks: ["working"] },
    },
    workspaces: {
      w: {
        tier: "t",
        approve: {
          routes: ["plain", "after-500", "after-refused"],
          regions: ["world"],
          providers: names,
        },
      },
    },
  };
  writeFileSync(join(folder, "routes.yaml"), JSON.stringify(routes));
  const started = await startServer(
    {
      config: join(folder, "routes.yaml"),
      database: join(folder, "signalbox.db"),
      host: "127.0.0.1",
      port: 0,
      adminHost: "127.0.0.1",
      adminPort: 0,
      demo: false,
      drain: 100,
      watch: false,
      cache: { directory: join(folder, "cache"), secretDirectory: join(folder, "own") },
    },
    {},
    "0.0.0-bench",
  );
  if (!started.ok) throw new Error(JSON.stringify(started.diagnostics));
  const { server } = started;
  const grants = {
    workspace: "w",
    scopes: ["inference"],
    owner: "bench",
    environment: "production",
    expiresAt: Date.now() + 600_000,
    createdBy: "bench",
  } as const;
  const made = createKey(grants, Date.now, randomBytes);
  await server.store.keys.create(made.record);
  return {
    url: server.url,
    key: made.text,
    close: async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
