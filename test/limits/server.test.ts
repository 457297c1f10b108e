import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { limits } from "../../src/cli/limits.ts";
import { runCommand } from "../keys/command.ts";
import { startTestServer } from "../support/server.ts";

/**
 * For an hour, so that the test does not end in another window than it began but for one moment in
 * it.
 */
const withBudget = (tokens: number) => (routes: string) =>
  routes.replace(
    "limits: { requests_per_minute: 600, tokens_per_minute: 1000000, concurrency: 50 }",
    `limits: { concurrency: 50, budget: { tokens: ${tokens}, per: hour } }`,
  );

describe("a whole server", () => {
  it("counts in its store, shows usage, and applies another ceiling at once", async () => {
    const test = await startTestServer(withBudget(2_000_000));
    const key = await test.key("demo", ["inference"]);
    const ask = (): Promise<Response> =>
      fetch(`${test.server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "chat-small",
          max_tokens: 20,
          messages: [{ role: "user", content: "hello" }],
        }),
      });
    const first = await ask();
    expect([first.status, first.headers.get("x-ratelimit-limit-tokens")]).toEqual([200, "2000000"]);
    await first.text();

    const file = join(test.folder, "routes.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("tokens: 2000000", "tokens: 10"));
    expect((await test.server.reload()).ok).toBe(true);
    const refused = await ask();
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({ error: { code: "exceeds_limit" } });

    const shown = await runCommand(
      limits,
      ["--database", join(test.folder, "signalbox.db"), "--workspace", "demo"],
      {
        cwd: test.folder,
      },
    );
    expect(shown.stdout).toMatch(
      /^demo {2}- {2}tokens\/hour {2}[1-9]\d* of 10 {2}\d+ % {2}until /m,
    );
    const status: unknown = await (await fetch(`${test.server.url}/status`)).json();
    expect(JSON.stringify(status)).not.toContain("tokens");
  });
});
