import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

import { startTestServer } from "../support/server.ts";
import { call } from "../http/keys/support.ts";
import { freePort } from "../support/ports.ts";

const PAGE = readFileSync(resolve(import.meta.dirname, "../../docs/keys.md"), "utf8");

it("the backend in docs/keys.md issues a valid token to a page", async () => {
  const code = /```js\n(\/\/ backend\.mjs[\s\S]*?)```/.exec(PAGE)?.[1];
  if (code === undefined) throw new Error("docs/keys.md has no backend");
  const { server, ...running } = await startTestServer();
  const manager = await running.key.call(running, "demo", ["operations:manage"]);
  const origin = "https://app.example.com";
  const made = await call(server, manager, "POST", "/v1/keys", {
    scopes: ["inference"],
    owner: "docs",
    expires_in: 3_600,
    exchange: { maximum_lifetime: 600, operations: ["chat.completions"], origins: [origin] },
  });
  const folder = mkdtempSync(join(tmpdir(), "signalbox-docs-"));
  writeFileSync(join(folder, "backend.mjs"), code);
  const port = await freePort();
  const backend = spawn(process.execPath, [join(folder, "backend.mjs")], {
    env: {
      SIGNALBOX_URL: server.url,
      SIGNALBOX_KEY: made.json.key,
      APP_ORIGIN: origin,
      PORT: String(port),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await new Promise((ready) => {
      backend.stdout.once("data", ready);
    });
    const answer = await fetch(`http://127.0.0.1:${port}/token`, { method: "POST" });
    const { access_token: token, expires_in: life } = JSON.parse(await answer.text());
    expect(life).toBe(300);
    const used = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, origin, "content-type": "application/json" },
      body: JSON.stringify({ model: "chat-small", messages: [{ role: "user", content: "hello" }] }),
    });
    expect(used.status).toBe(200);
  } finally {
    backend.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});
