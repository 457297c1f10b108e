import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { runImport } from "../../../src/cli/import/import.ts";
import { createKey } from "../../../src/keys/key-record.ts";
import { startServer } from "../../../src/server/start.ts";
import { TEST_CACHE } from "../../support/cache.ts";

const CASES = join(import.meta.dirname, "cases");

/** Imports a case, serves it as the report says, and sends the request that the report shows. */
test.each([
  ["litellm", "fallbacks", "config.yaml"],
  ["litellm", "bedrock", "config.yaml"],
  ["litellm", "own-servers", "config.yaml"],
  ["litellm", "teams-and-keys", "config.yaml"],
  ["litellm", "tags", "config.yaml"],
  ["portkey", "loadbalance", "config.json"],
  ["portkey", "nested", "config.json"],
  ["portkey", "conditional-metadata", "config.json"],
  ["openrouter", "large", "models.txt"],
])("%s %s: the simulated provider answers the first request", async (source, name, file) => {
  const path = join(CASES, source, name, file);
  const answers = {
    workspace: "demo",
    trainsOnData: true,
    models: [],
    providers: new Map<string, string>(),
  };
  const imported = await runImport(
    source,
    { shown: file, text: readFileSync(path, "utf8"), path },
    answers,
    TEST_CACHE,
  );
  if (!("files" in imported)) throw new Error(JSON.stringify(imported));
  const folder = mkdtempSync(join(tmpdir(), "signalbox-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [below, text] of imported.files) {
    mkdirSync(dirname(join(folder, below)), { recursive: true });
    writeFileSync(join(folder, below), text);
  }
  const started = await startServer(
    {
      config: join(folder, "routes.yaml"),
      environment: "simulated",
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
    // Secrets that are set change nothing: no provider is called in this environment.
    { OPENAI_API_KEY: "not-a-key" },
    "0.0.0-test",
  );
  if (!started.ok) throw new Error(JSON.stringify(started.diagnostics));
  onTestFinished(() => started.server.close());
  const { firstRequest } = imported.result;
  if (firstRequest === null) throw new Error("no first request");
  const { text, record } = createKey(
    {
      workspace: firstRequest.workspace,
      scopes: ["inference"],
      owner: "test",
      environment: "production",
      expiresAt: Date.now() + 60_000,
      createdBy: "test",
    },
    Date.now,
    randomBytes,
  );
  await started.server.store.keys.create(record);
  const answer = await fetch(`${started.server.url}${firstRequest.path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
    body: firstRequest.body,
  });
  expect(await answer.json()).toMatchObject({ choices: [{ message: { role: "assistant" } }] });
  expect(answer.status).toBe(200);
});
