import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { report } from "../../src/cli/report.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runCommand } from "../keys/command.ts";
import { keptPolicy, referenceTo } from "../lifecycle/kept-policies.ts";
import { chainRecords, person, REPORT, Story } from "../lifecycle/policy-rows.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { configuration, demo, end, run as runBeside, type Demo } from "./serve/served.ts";

const NOVEMBER = Date.UTC(2026, 10, 1);
const DAY = 86_400_000;

/** A month: two contents, one promoted with and one without an approval, and rolled back. */
async function monthOfChanges(): Promise<string> {
  const cwd = temporaryFolder();
  const store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
  const [first, second] = [keptPolicy("A"), keptPolicy("B")];
  for (const content of [first, second]) await store.policyLog.keep(content);
  const [one, two] = [referenceTo(first, 1), referenceTo(second, 2)];
  const approval = { by: person("ben"), at: NOVEMBER + 2 * DAY, report: REPORT };
  const story = new Story()
    .observed(one, { at: NOVEMBER - 20 * DAY, slot: "enforced" })
    .observed(two, { at: NOVEMBER + DAY })
    .add({ kind: "approved", ...two, module: undefined, ...approval })
    .promoted(one, two, { at: NOVEMBER + 3 * DAY, approvals: [approval] })
    .rolledBack(two, one, { at: NOVEMBER + 4 * DAY })
    .observed(two, { at: NOVEMBER + 40 * DAY });
  expect(await store.policyLog.append(await store.policyLog.head(), story.rows)).toBe(true);
  await store.close();
  return cwd;
}

describe("signalbox report of policies", () => {
  it("lists who enforced which revision from when to when, with titles, owners and exceptions", async () => {
    const cwd = await monthOfChanges();
    const { code, stdout } = await runCommand(report, ["--period", "2026-11"], { cwd });
    expect(code).toBe(0);
    const rows = stdout.split("\n").filter((line) => line.startsWith("| `eu-residency`"));
    expect(rows.map((row) => row.replaceAll(/`[0-9a-f]{64}`/g, "DIGEST"))).toEqual([
      "| `eu-residency` | Version A | group:privacy | r1 | DIGEST | 2026-10-12T00:00Z | 2026-11-04T00:00Z | first start (initial_mode) |  |",
      "| `eu-residency` | Version B | group:privacy | r2 | DIGEST | 2026-11-04T00:00Z | 2026-11-05T00:00Z | key sbk_ann (platform) | key sbk_ben (platform) |",
      "| `eu-residency` | Version A | group:privacy | r1 | DIGEST | 2026-11-05T00:00Z | in force | key sbk_ann (platform) |  |",
    ]);
    expect(stdout).toContain(
      "| 2026-11-03T00:00Z | `eu-residency` | approved with waived assertions | key sbk_ben (platform) |",
    );
    expect(stdout).toContain(
      "| 2026-11-05T00:00Z | `eu-residency` | rolled back: wrong_denials | key sbk_ann (platform) |",
    );
    expect(stdout).not.toContain("by somebody else");
  });

  it("omits later months, and shows less of an earlier one", async () => {
    const cwd = await monthOfChanges();
    const { stdout } = await runCommand(report, ["--period", "2026-10"], { cwd });
    expect(stdout.match(/Version A/g)).toHaveLength(1);
    expect(stdout).toMatch(/Exceptions\n\nNone\./);
  });

  it("is refused where a row cannot be read, because it would be wrong", async () => {
    const cwd = temporaryFolder();
    const store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
    const rows = chainRecords([{ kind: "of a later version", policy: "x", at: NOVEMBER }]);
    expect(await store.policyLog.append(await store.policyLog.head(), rows)).toBe(true);
    await store.close();
    const { code, stdout, stderr } = await runCommand(report, ["--period", "2026-11"], { cwd });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("position 1 of the policy log cannot be read");
  });

  it.each(["2026-13", "2026", "November", "2026-11-01"])("refuses the month %s", async (month) => {
    const { code, stderr } = await runCommand(report, ["--period", month], {
      cwd: temporaryFolder(),
    });
    expect(code).toBe(2);
    expect(stderr).toContain("--period: give a month, such as 2026-11");
  });
});

describe("signalbox report of a server", () => {
  let server: Demo;
  beforeAll(async () => {
    server = await demo(configuration());
  });
  afterAll(() => end(server));

  it("has its denials by reason, and a command that verifies it", async () => {
    expect((await server.chat({ model: "absent" })).status).toBe(404);
    const month = new Date().toISOString().slice(0, 7);
    await expect
      .poll(async () => {
        const printed = runBeside(server.folder, ["report", "--period", month]);
        await printed.ended;
        return printed.printed.all;
      })
      .toMatch(/\| `demo` \| approvals \| route\\?_known \| model\\?_not\\?_found \| 1 \| 0 \|/);
    const page = runBeside(server.folder, ["report", "--period", month, "--format", "html"]);
    expect(await page.ended).toBe(0);
    expect(page.printed.all).toMatch(/^<!doctype html>[^]*model_not_found[^]*<\/html>/);
    const [, verify = ""] = /signalbox (evidence verify [^<]*)/.exec(page.printed.all) ?? [];
    expect(await runBeside(server.folder, verify.trim().split(" ")).ended).toBe(0);
  });
});
