import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startServer } from "../../src/server/start.ts";
import { compileFiles, SPLIT, type Files } from "../compile/files/samples.ts";
import { TEST_CACHE } from "../support/cache.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-environment-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const PRODUCTION = "providers: { beta-us: { base_url: https://prod.example/v1 } }\n";
// The secrets of the samples are not set.
const FILES: Files = {
  "routes.yaml": (SPLIT["routes.yaml"] ?? "").replace("teams/*.yaml", "supply.yaml"),
  "providers.yaml": (SPLIT["providers.yaml"] ?? "").replaceAll(
    " } }",
    " }, on_missing_secret: simulate }",
  ),
  "supply.yaml": SPLIT["teams/supply.yaml"] ?? "",
  "routes.production.yaml": PRODUCTION,
};

async function served(environment: string | null) {
  const started = await startServer(
    {
      config: join(folder, "routes.yaml"),
      environment,
      database: join(folder, "signalbox.db"),
      host: "127.0.0.1",
      port: 0,
      adminHost: "127.0.0.1",
      adminPort: 0,
      demo: false,
      drain: 1_000,
      watch: false,
      cache: TEST_CACHE,
    },
    {},
    "0.0.0-test",
  );
  if (!started.ok) return { table: null, codes: started.diagnostics.map(({ code }) => code) };
  const { server } = started;
  try {
    const status: unknown = await (await fetch(`${server.url}/status`)).json();
    return { table: Reflect.get(Object(status), "table_sha256") as unknown, codes: [] };
  } finally {
    await server.close();
  }
}

test(
  "a server shows the table of its environment, as check does",
  { timeout: 60_000 },
  async () => {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
    const plain = await served(null);
    const production = await served("production");
    expect(plain.table).toBe((await compileFiles(FILES)).table?.revision);
    expect(production.table).toBe((await compileFiles(FILES, "production")).table?.revision);
    expect(production.table).not.toBe(plain.table);
    expect(await served("prod")).toEqual({ table: null, codes: ["ENVIRONMENT_UNKNOWN"] });
  },
);
