import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";

import { summary } from "../../src/cli/summary.ts";
import { chainHash, GENESIS } from "../../src/evidence/chain.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { openLifecycle } from "../../src/lifecycle/open-lifecycle.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { digestOf, file, TABLE } from "../lifecycle/lifecycle-context.ts";
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
const run = (...argv: string[]) => runCommand(summary, argv, { cwd });

const WINDOW = ["--start", "2026-11-18T00:00:00Z", "--end", "2026-11-19T00:00:00Z"];

async function writeSome(): Promise<void> {
  const residency = { policy: asIdentifier("eu-residency"), revision: asIdentifier("r3") };
  const said = {
    ...residency,
    constraint: asIdentifier("region"),
    reason: asIdentifier("REGION_UNKNOWN"),
    verdict: "fail",
  } as const;
  const shadows = [residency];
  await recordDecision(
    store.evidence,
    decisionRecord("r1", { shadows, wouldDeny: [{ ...said, effect: "would_deny" }] }),
  );
  await recordDecision(store.evidence, decisionRecord("r2", { shadows, wouldDeny: [] }));
  await recordDecision(
    store.evidence,
    decisionRecord("r3", {
      outcome: "deny",
      route: null,
      policy: asIdentifier("approvals"),
      constraint: asIdentifier("route_known"),
      reason: asIdentifier("model_not_found"),
      wouldDeny: [],
    }),
  );
  await recordDecision(
    store.evidence,
    decisionRecord("r4", {
      outcome: "refuse",
      workspace: null,
      keyId: null,
      route: null,
      reason: asIdentifier("invalid_api_key"),
    }),
  );
  store.evidence.settle(outcomeRecord("r1"));
  await store.evidence.flush();
}

/** Three contents one after the other, the last of them half an hour after nine. */
async function observeThree(): Promise<void> {
  const lifecycle = await openLifecycle(store.policyLog, () => Date.UTC(2026, 10, 18, 9, 30, 59));
  for (const name of ["A", "B", "C"]) {
    const content = file("eu-residency", name);
    await store.policyLog.keep({ ...content, description: "{}", module: new Uint8Array([1]) });
    await lifecycle.observe([content], "start", TABLE);
  }
}

describe("signalbox summary", () => {
  it("prints every workspace's totals, groups, verdicts and shadows", async () => {
    await writeSome();
    const { code, stdout } = await run("--group-by", "route", ...WINDOW);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "(no workspace)  2026-11-18T00:00:00Z to 2026-11-19T00:00:00Z, complete until 2026-11-18T11:00:00Z",
      "route  requests  running  allowed  denied  refused  would deny  failed  p50 ms  p95 ms  tokens in+out",
      "total         1        1        0       0        1           -       0       -       -            0+0",
      "-             1        1        0       0        1           -       0       -       -            0+0",
      "",
      "denied or refused  policy  constraint  reason",
      "1                  -       -           invalid_api_key",
      "",
      "acme-prod  2026-11-18T00:00:00Z to 2026-11-19T00:00:00Z, complete until 2026-11-18T11:00:00Z",
      "route       requests  running  allowed  denied  refused  would deny  failed  p50 ms  p95 ms  tokens in+out",
      "total              3        2        2       1        0      1 of 2       0     837     837       1234+321",
      "chat-large         2        1        2       0        0      1 of 2       0     837     837       1234+321",
      "-                  1        1        0       1        0           -       0       -       -            0+0",
      "",
      "denied or refused  policy     constraint   reason",
      "1                  approvals  route_known  model_not_found",
      "",
      "in shadow     revision  since  judged  would deny  of them let through  would narrow  indeterminate",
      "eu-residency  r3        -      2       1           1                    0             0",
      "(by route, with requests to try: signalbox policy show ID)",
      "",
      "",
    ]);
  });

  it("prints for revisions now in shadow the time since when, and omits earlier ones", async () => {
    await writeSome();
    await observeThree();
    const { stdout } = await run("--workspace", "acme-prod", ...WINDOW);
    expect(stdout).toContain(
      [
        "in shadow     revision  since              judged  would deny  of them let through  would narrow  indeterminate",
        "eu-residency  r3        2026-11-18T09:30Z  2       1           1                    0             0",
        "",
      ].join("\n"),
    );
    const answer: unknown = JSON.parse(
      (await run("--format", "json", "--workspace", "acme-prod", ...WINDOW)).stdout,
    );
    const candidate = {
      revision: "r3",
      digest: digestOf("C"),
      content: "rules",
      since: "2026-11-18T09:30:59.000Z",
    };
    expect(answer).toMatchObject({
      policies: [
        { id: "eu-residency", slots: [], stored: { enforced: null, candidate }, drift: null },
      ],
    });
    const lifecycle = await openLifecycle(store.policyLog, () => Date.UTC(2026, 10, 18, 10));
    await lifecycle.observe([file("eu-residency", "D")], "reload", TABLE);
    expect((await run("--workspace", "acme-prod", ...WINDOW)).stdout).toContain(
      "eu-residency  r3        -      2 ",
    );
  });

  it("names the newer version that has written to the policy log, in one line", async () => {
    await writeSome();
    const record = '{"kind":"tomorrow"}';
    const hash = chainHash(GENESIS.hash, 1, "policy", record);
    await store.policyLog.append(GENESIS, [{ position: 1, previous: GENESIS.hash, hash, record }]);
    const { code, stdout, stderr } = await run(...WINDOW);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^signalbox summary: the policy log has a row at position 1 .*run the newer version\n$/,
    );
  });

  it("prints JSON lines of one workspace", async () => {
    await writeSome();
    const { stdout } = await run(
      "--format",
      "json",
      "--workspace",
      "acme-prod",
      "--group-by",
      "policy,reason_code",
      ...WINDOW,
    );
    const answer: unknown = JSON.parse(stdout);
    expect(answer).toMatchObject({
      object: "governance.summary",
      workspace: "acme-prod",
      totals: { requests: 3 },
      groups: [
        { group: { policy: "approvals", reason_code: "model_not_found" }, denied: 1 },
        {
          group: { policy: "eu-residency", reason_code: "REGION_UNKNOWN" },
          shadow: { judged: 2, would_deny: 1 },
        },
      ],
      table_revision: null,
    });
  });

  it("prints a note where nothing was counted", async () => {
    expect(await run()).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("nothing has been counted"),
    });
  });

  it.each([
    [["now"], "takes no arguments, only flags"],
    [["--start", "yesterday"], "--start: must be a time"],
    [["--group-by", "colour"], "--group-by: must be one of operation"],
    [["--group-by", "route,key"], "--group-by: can combine"],
    [["--nothing"], "--nothing"],
  ])("refuses %j with exit 2", async (argv, message) => {
    const { code, stderr } = await run(...argv);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
