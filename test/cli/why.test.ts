import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { KeyLimits } from "../../src/canon/limits.ts";
import { runCommands } from "../../src/cli/commands.ts";
import { runCommand, type Ran } from "../keys/command.ts";
import { TEST_HOME } from "../support/cache.ts";
import { startTestServer } from "../support/server.ts";
import { ROOT } from "./explain-command.ts";

type TestServer = Awaited<ReturnType<typeof startTestServer>>;

/** The id of a chat that a workspace's key requested. */
async function chat(
  test: TestServer,
  workspace: string,
  model: string,
  limits: KeyLimits | null = null,
): Promise<string> {
  const key = await test.key(workspace, ["inference"], { limits });
  const { headers } = await fetch(`${test.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "a secret question" }] }),
  });
  await test.server.store.evidence.flush();
  return headers.get("x-request-id") ?? "";
}

function why(test: TestServer, argv: readonly string[], key: string = ""): Promise<Ran> {
  return runCommand(runCommands, ["why", ...argv], {
    cwd: test.folder,
    environment: {
      SIGNALBOX_KEY: key,
      SIGNALBOX_DATABASE: join(test.folder, "signalbox.db"),
      XDG_CACHE_HOME: TEST_HOME,
    },
  });
}

describe("signalbox why", () => {
  it("shows decision, calls, cost, candidates and the explain command, the same from a server", async () => {
    const test = await startTestServer();
    const id = await chat(test, "demo", "chat-small");
    const local = await why(test, [id]);
    expect(local).toMatchObject({ code: 0, stderr: "" });
    expect(local.stdout).toMatch(/^ROUTED to [\w-]+: completed, 200\n/);
    for (const text of [
      id,
      "\nCalls\n",
      "\nCost\n",
      "USD by list price",
      "\nCandidates ",
      "✓  approvals/provider_approved",
      "try  signalbox explain",
    ]) {
      expect(local.stdout).toContain(text);
    }
    expect(local.stdout).toMatch(/ answered +200 +\d+ ms +after \d+ ms\n/);
    expect(local.stdout).not.toContain("secret question");
    const key = await test.key("demo", ["governance:read", "route:simulate"]);
    const remote = await why(test, [id, "--server", test.server.url], key);
    const [head] = local.stdout.split("\n");
    expect(remote.stdout.startsWith(`${head}\n`)).toBe(true);
    expect(remote.stdout).toContain("\nCandidates ");
    const json: Record<string, unknown> = JSON.parse(
      (await why(test, [id, "--format", "json"])).stdout,
    );
    expect(json).toMatchObject({ decision: { id, outcome: "route" }, explanation: {}, notes: [] });
  });

  it("shows a denial with its policy, and that another table explains it", async () => {
    const test = await startTestServer();
    const id = await chat(test, "demo", "no-such-route");
    cpSync(join(ROOT, "docs/examples/eu-fallback"), join(test.folder, "other"), {
      recursive: true,
    });
    const { stdout } = await why(test, [id.replace("req_", "dec_")]);
    expect(stdout).toMatch(/^DENIED by approvals\/route_known: model_not_found, 404\n/);
    const routed = await chat(test, "demo", "chat-small");
    expect((await why(test, [routed, "--config", "other/routes.yaml"])).stdout).toContain(
      "was decided with another routes.yaml",
    );
  });

  it("shows the limit that refused a request, with its size, use and renewal", async () => {
    const test = await startTestServer();
    const limits = {
      requestsPerMinute: null,
      tokensPerMinute: null,
      concurrency: null,
      budget: { usd: 0.000_001, per: "day" },
    } as const;
    const id = await chat(test, "demo", "chat-small", limits);
    const { stdout } = await why(test, [id]);
    expect(stdout).toMatch(/^REFUSED: exceeds_limit, 402\n/);
    expect(stdout).toMatch(/\nLimit\n +limit +0.000001 usd\/day of the key\n/);
    expect(stdout).toMatch(/\n +requested +0\.\d+\n +renews +\d{4}-\d\d-\d\dT00:00:00/);
    const json: unknown = JSON.parse((await why(test, [id, "--format", "json"])).stdout);
    expect(json).toMatchObject({
      decision: { limit: { subject: "key", measure: "usd", per: "day", size: 0.000_001 } },
    });
  });

  it("an unknown request is an error that names the fix", async () => {
    const test = await startTestServer();
    const unknown = `req_${"0".repeat(32)}`;
    expect(await why(test, [unknown])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no such request") as string,
    });
    const key = await test.key("demo", ["governance:read", "route:simulate"]);
    expect(await why(test, [unknown, "--server", test.server.url], key)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has no decision of this id") as string,
    });
    expect((await why(test, ["nonsense"])).code).toBe(2);
  });
});
