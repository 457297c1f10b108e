import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../src/cli/limits.ts";
import { windowAt } from "../../src/limits/windows.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runCommand } from "../keys/command.ts";
import { keyRecord } from "../store/records.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

const ROUTES = `
version: 1
regions: { eu: [eu-west] }
providers:
  alpha: { dialect: openai-chat, base_url: "https://alpha.example/v1", region: eu-west, auth: { bearer: { env: KEY } } }
models:
  large: { operations: [generate], max_output_tokens: 100 }
endpoints:
  - { id: large-eu, model: large, provider: alpha, upstream_model: large-1, price: { input: 1, output: 1 } }
routes:
  chat: { primary: large-eu }
workspaces:
  acme:
    tier: standard
    approve: { routes: [chat], regions: [eu], providers: [alpha] }
    limits: { concurrency: 4, budget: { usd: 10, per: month }, per_key: { tokens_per_minute: 200 } }
  beta:
    tier: standard
    approve: { routes: [chat], regions: [eu], providers: [alpha] }
`;

let cwd: string;
let store: Store;
beforeEach(async () => {
  cwd = temporaryFolder();
  mkdirSync(join(cwd, "policies"));
  writeFileSync(join(cwd, "routes.yaml"), ROUTES);
  store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
  await store.keys.create(keyRecord("live", { workspace: "acme", expiresAt: Date.now() + 60_000 }));
  await store.keys.create(
    keyRecord("gone", { workspace: "acme", expiresAt: 1_000_000, createdAt: 1 }),
  );
  const now = Date.now();
  await store.limits.lease({
    holder: "h",
    now,
    until: now + 20_000,
    counters: [
      {
        subject: "workspace:acme",
        measure: "micro_usd",
        window: "month",
        start: windowAt("month", now).start,
        ceiling: 10_000_000,
        giveBack: 0,
        overdraft: 2_500_000,
        need: 0,
        want: 0,
      },
    ],
    slots: [{ subject: "workspace:acme", ceiling: 4, inUse: 1, want: 3 }],
  });
  return () => store.close();
});

const run = (...argv: string[]) => runCommand(limits, argv, { cwd });

describe("signalbox limits", () => {
  it("prints usage and limit, for workspaces and active keys", async () => {
    const { code, stdout, stderr } = await run();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.replaceAll(/until \S+/g, "until T").split("\n")).toEqual([
      "acme  -  usd/month  2.5 of 10  25 %  until T",
      "acme  -  concurrency  3 of 4  75 %  -",
      "acme  live  tokens/minute  0 of 200  0 %  until T",
      "",
    ]);
  });

  it("prints JSON lines, narrowed", async () => {
    const { stdout } = await run("--format", "json", "--workspace", "acme");
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line): unknown => JSON.parse(line)),
    ).toMatchObject([
      {
        workspace: "acme",
        key: null,
        measure: "micro_usd",
        window: "month",
        used: 2_500_000,
        limit: 10_000_000,
      },
      { measure: "concurrency", window: null, used: 3, limit: 4, resetsAt: null },
      { key: "live", measure: "tokens", used: 0, limit: 200 },
    ]);
    expect((await run("--workspace", "beta")).stdout).toBe("no limits\n");
  });

  it("names the fault of the command line or the file", async () => {
    expect((await run("acme")).code).toBe(2);
    expect((await run("--workspace", "gamma")).stderr).toContain("no workspace of that name");
    writeFileSync(join(cwd, "routes.yaml"), "version: 2\n");
    expect((await run()).stderr).toContain("routes.yaml has errors");
  });
});
