import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { spend } from "../../src/cli/summary.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runCommand } from "../keys/command.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../store/records.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

let cwd: string;
let store: Store;
beforeEach(async () => {
  cwd = temporaryFolder();
  store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
  return () => store.close();
});
const run = (...argv: string[]) => runCommand(spend, argv, { cwd });
const WINDOW = ["--start", "2026-11-18T00:00:00Z", "--end", "2026-11-19T00:00:00Z"];

async function writeSome(): Promise<void> {
  for (const [id, route, costNanoUsd] of [
    ["r1", "chat", 1_250_000_000],
    ["r2", "chat", null],
    ["r3", "=cmd", null],
  ] as const) {
    await recordDecision(store.evidence, decisionRecord(id, { route: asIdentifier(route) }));
    store.evidence.settle({ ...outcomeRecord(id), costNanoUsd });
  }
  await store.evidence.flush();
}

describe("signalbox spend", () => {
  it("prints costs by group, and those that are unknown as unknown", async () => {
    await writeSome();
    const { code, stdout } = await run("--group-by", "route", ...WINDOW);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "acme-prod  2026-11-18T00:00:00Z to 2026-11-19T00:00:00Z, estimated from list prices",
      "route  requests  tokens in+out  cached       usd  unknown cost",
      "total         3       3702+963       0  1.250000             2",
      "chat          2       2468+642       0  1.250000             1",
      "=cmd          1       1234+321       0   unknown             1",
      "",
      "",
    ]);
  });

  it("prints the answer of the server as JSON, and CSV without formulas", async () => {
    await writeSome();
    const { stdout } = await run("--format", "json", "--workspace", "acme-prod", ...WINDOW);
    expect(JSON.parse(stdout)).toMatchObject({
      object: "spend",
      total: { cost_usd: 1.25, unpriced_requests: 2 },
    });
    const csv = await run(
      "--format",
      "csv",
      "--workspace",
      "acme-prod",
      "--group-by",
      "route",
      ...WINDOW,
    );
    expect(csv.stdout.split("\r\n").slice(1, 3)).toEqual([
      "chat,2,2468,642,0,0,1.25,1",
      "'=cmd,1,1234,321,0,0,,1",
    ]);
  });

  it.each([
    [["--format", "csv"], "--workspace: is missing"],
    [["--group-by", "policy"], "--group-by: must be one of operation, route"],
    [["--start", "yesterday"], "--start: must be a time"],
    [["chat"], "takes no arguments, only flags (given: `chat`)"],
  ])("refuses %j", async (argv, message) => {
    const { code, stderr } = await run(...argv);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
