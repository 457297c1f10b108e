import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";

import { evidence } from "../../src/cli/evidence/evidence.ts";
import { GENESIS } from "../../src/evidence/chain.ts";
import { KEPT_CONTENT_CAUSES, POLICY_LOG_CAUSES } from "../../src/lifecycle/fold.ts";
import type { PolicyLogRow } from "../../src/lifecycle/records.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runCommand } from "../keys/command.ts";
import { keptPolicy, referenceTo } from "../lifecycle/kept-policies.ts";
import { chainRecords, person, Story } from "../lifecycle/policy-rows.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../store/records.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { missingPrograms } from "../support/at-hand.ts";

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../docs/evidence.md"), "utf8");

const [first, second] = [keptPolicy("a"), keptPolicy("b")];
const [a, b] = [referenceTo(first, 1), referenceTo(second, 2)];

/** Six rows: two promotions, one rollback. */
const story = new Story().observed(a).promoted(null, a).observed(b).approved(b, person("bob"));
const approvals = [{ by: person("bob"), at: 4_000, report: null }];
const { rows } = story.promoted(a, b, { approvals }).rolledBack(b, a);
const head = `6:${rows[5]?.hash}`;

let cwd: string;
let store: Store;
beforeEach(async () => {
  cwd = temporaryFolder();
  store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
  await store.policyLog.keep(first);
  await store.policyLog.keep(second);
  await store.policyLog.append(GENESIS, rows);
  return () => store.close();
});
const run = (...argv: string[]) => runCommand(evidence, argv, { cwd });

/** What somebody does who owns the file. */
function tamper(statement: string, ...values: readonly (string | Uint8Array)[]): void {
  const database = new DatabaseSync(join(cwd, ".signalbox", "signalbox.db"), { timeout: 5_000 });
  for (const { name } of database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    .all())
    database.exec(`DROP TRIGGER ${String(name)}`);
  database.prepare(statement).run(...values);
  database.close();
}

/** The log as if these had been its rows from the beginning. */
function forge(forged: readonly PolicyLogRow[]): void {
  tamper("DELETE FROM policy_log");
  for (const { position, previous, hash, record } of forged) {
    tamper(
      `INSERT INTO policy_log (position, previous, hash, record) VALUES (${position}, ?, ?, ?)`,
      previous,
      hash,
      record,
    );
  }
}

/** There is no approval with a report. */
const REPORTS = "reports of approvers: 0 recomputed by the server, 0 only claimed\n";

describe("evidence verify of the policy log", () => {
  it("prints the verified policy rows after those of the requests", async () => {
    expect(await run("verify")).toEqual({
      code: 0,
      stdout:
        `verified 0 rows from the first row on\nwithout an outcome yet: 0\nhead 0:${"0".repeat(64)}\n` +
        "end: not proven; missing rows at the end show only with a head noted elsewhere (--anchor)\n" +
        `verified 6 rows of policies\npromotions: 2\nrollbacks: 1\n${REPORTS}contents stored: 2\npolicy head ${head}\n` +
        "policy end: not proven; missing rows at the end show only with a head noted elsewhere (--policy-head)\n",
      stderr: "",
    });
  });

  it.each([
    [
      "UPDATE policy_log SET record = replace(record, 'sbk_bob', 'sbk_eve') WHERE position = 4",
      "position 4",
      "hash",
    ],
    ["UPDATE policy_log SET previous = hash WHERE position = 3", "position 3", "hash"],
    ["DELETE FROM policy_log WHERE position = 2", "position 2", "gap"],
    ["UPDATE policy_log SET position = 9 WHERE position = 6", "position 6", "gap"],
    [
      "INSERT INTO policy_log SELECT 7, hash, hash, record FROM policy_log WHERE position = 6",
      "position 7",
      "hash",
    ],
    [
      "UPDATE policy_contents SET module = CAST(module || x'00' AS BLOB) WHERE description LIKE '%Version b%'",
      "position 3",
      "module",
    ],
    [
      "UPDATE policy_contents SET description = replace(description, '# a', '# x') WHERE description LIKE '%Version a%'",
      "position 1",
      "digest",
    ],
    ["UPDATE policy_contents SET policy = 'other'", "position 1", "other_policy"],
    ["DELETE FROM policy_contents WHERE description LIKE '%Version b%'", "position 3", "not_kept"],
  ])("finds %s", async (statement, position, cause) => {
    tamper(statement);
    const { code, stderr, stdout } = await run("verify");
    expect([code, stdout]).toEqual([1, expect.not.stringContaining("of policies")]);
    expect(stderr).toMatch(/^signalbox evidence: the policy log [^\n]+\n$/);
    expect(stderr).toContain(`at ${position}`);
    expect(stderr).toContain(`(${cause})`);
  });

  it("finds a row that no server can follow, in a chain that holds", async () => {
    const [observed = {}, , , approved = {}] = story.records;
    forge(chainRecords([observed, { ...approved, digest: "f".repeat(64) }, observed]));
    const { code, stderr } = await run("verify");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("at position 2: no server can follow the row"),
    ]);
    expect(DOCUMENT).toContain(`$ signalbox evidence verify\n${stderr}`);
  });

  it("checks a head noted elsewhere", async () => {
    expect(
      (await run("verify", "--policy-head", head, "--policy-head", `2:${rows[1]?.hash}`)).code,
    ).toBe(0);
    expect((await run("verify", "--policy-head", `6:${"f".repeat(64)}`)).stderr).toContain(
      "position 6: the hash at this position differs",
    );
    // A log whose end was cut off still verifies, without a noted head.
    tamper("DELETE FROM policy_log WHERE position > 4");
    expect((await run("verify")).code).toBe(0);
    const { code, stderr } = await run("verify", "--policy-head", head);
    expect([code, stderr]).toEqual([1, expect.stringContaining("position 5: the log ends before")]);
  });

  it("reports on both logs where one of them does not verify", async () => {
    await recordDecision(store.evidence, decisionRecord("r1"));
    tamper(
      "UPDATE evidence_batches SET records = CAST(replace(CAST(records AS TEXT), 'outcome', 'OUTCOME') AS BLOB)",
    );
    const { code, stdout, stderr } = await run("verify");
    expect([code, stdout]).toEqual([1, expect.stringContaining(`policy head ${head}`)]);
    expect(stderr).toContain("the log does not verify at position 1");
    tamper("DELETE FROM policy_log WHERE position = 2");
    expect((await run("verify")).stderr.trimEnd().split("\n")).toHaveLength(2);
  });

  it("is not touched by a prune", async () => {
    await recordDecision(store.evidence, decisionRecord("r1", { at: 1_000 }));
    store.evidence.settle({ ...outcomeRecord("r1"), at: 1_000 });
    await store.evidence.flush();
    expect((await run("prune", "--before", "2026-10-01", "--yes")).stdout).toContain(
      "deleted 2 rows",
    );
    expect((await run("verify", "--policy-head", head)).code).toBe(0);
  });
});

it("the document names every cause", () => {
  const section = /## The policy log\n([\s\S]*?)\n## /.exec(DOCUMENT)?.[1] ?? "";
  const named = new Set([...section.matchAll(/`([a-z_]+)`/g)].map(([, value]) => value ?? ""));
  const causes = [...Object.keys(POLICY_LOG_CAUSES), ...Object.keys(KEPT_CONTENT_CAUSES)];
  expect(causes.filter((cause) => !named.has(cause))).toEqual([]);
});

describe("evidence export --policies", () => {
  const exported = (): string => join(cwd, "policies.jsonl");
  const linesOf = (): string[] => readFileSync(exported(), "utf8").trimEnd().split("\n");
  const write = (lines: readonly string[]): void =>
    writeFileSync(exported(), lines.map((line) => `${line}\n`).join(""));

  it("writes each row with its record to the byte, and verifies as a file", async () => {
    expect(await run("export", "--policies", "--output", "policies.jsonl")).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
    expect((statSync(exported()).mode & 0o777).toString(8)).toBe("600");
    const [header = "", ...lines] = linesOf();
    expect(JSON.parse(header)).toEqual({
      format: "signalbox.policies.log.v1",
      from: { position: 0, hash: "0".repeat(64) },
      to: { position: 6, hash: rows[5]?.hash },
    });
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      rows.map(({ position, previous, hash, record }) => ({
        position,
        kind: "policy",
        previous,
        hash,
        record: JSON.parse(record) as object,
      })),
    );
    for (const [index, line] of lines.entries())
      expect(line).toContain(`,"record":${rows[index]?.record}}`);
    expect(await run("verify", "--file", "policies.jsonl", "--policy-head", head)).toEqual({
      code: 0,
      stdout:
        `verified 6 rows of policies\npromotions: 2\nrollbacks: 1\n${REPORTS}` +
        `contents: not in an export; verify the database for them\nlast ${head}\n` +
        "end: nothing is missing up to 6, as a head noted elsewhere proves\n",
      stderr: "",
    });
    expect((await run("export", "--policies")).stdout).toBe(readFileSync(exported(), "utf8"));
    expect((await run("export", "--policies", "--output", "policies.jsonl")).stderr).toContain(
      "exists already",
    );
  });

  it.each([
    [
      "a row changed",
      (lines: string[]) => lines.with(4, (lines[4] ?? "").replace("sbk_bob", "sbk_eve")),
      "position 4",
    ],
    ["a row gone", (lines: string[]) => lines.toSpliced(2, 1), "position 2"],
    ["its last row gone", (lines: string[]) => lines.slice(0, -1), "position 6"],
    [
      "a line that is none",
      (lines: string[]) => lines.with(2, "{}"),
      "line 3 is not a row of a policy log export",
    ],
    ["no header", (lines: string[]) => lines.slice(1), "is not an export of evidence"],
    [
      "a header whose last hash is 800 kB of text",
      ([header = "", ...others]: string[]) => [
        header.replace(
          /"to":\{"position":\d+,"hash":"/,
          `"to":{"position":99,"hash":"${"\\u001b".repeat(133_000)}`,
        ),
        ...others,
      ],
      "is not an export of evidence",
    ],
    [
      "a header that begins later",
      (lines: string[]) => lines.with(0, (lines[0] ?? "").replace('"position":0', '"position":1')),
      "is not an export of evidence",
    ],
    [
      "rows of requests",
      (lines: string[]) =>
        lines.with(1, (lines[1] ?? "").replace('"kind":"policy"', '"kind":"decision"')),
      "line 2 is not a row",
    ],
  ])("with %s does not verify", async (_, edit, complaint) => {
    await run("export", "--policies", "--output", "policies.jsonl");
    write(edit(linesOf()));
    const { code, stderr } = await run("verify", "--file", "policies.jsonl");
    expect([code, stderr]).toEqual([1, expect.stringContaining(complaint)]);
  });

  it.skipIf(missingPrograms("python3") !== null)(
    "is read by the document's script (needs python3)",
    async () => {
      await run("export", "--policies", "--output", "policies.jsonl");
      const code = /```python transitions\n([\s\S]*?)```/.exec(DOCUMENT)?.[1] ?? "exit 9";
      const { stdout, stderr } = spawnSync("python3", ["-c", code, exported()], {
        encoding: "utf8",
      });
      expect([stdout.split("\n"), stderr]).toEqual([
        [
          "eu-residency promoted None 1 by sbk_ann approved by []",
          "eu-residency promoted 1 2 by sbk_ann approved by ['sbk_bob']",
          "eu-residency rolled_back 2 1 by sbk_ann approved by []",
          "",
        ],
        "",
      ]);
    },
  );

  it("of a damaged log leaves no file, and reports the position", async () => {
    tamper("DELETE FROM policy_log WHERE position = 2");
    const { code, stderr } = await run("export", "--policies", "--output", "policies.jsonl");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("the export ends before position 2"),
    ]);
    expect(() => statSync(exported())).toThrow("ENOENT");
  });

  it("is not mistaken for one of requests, nor vice versa", async () => {
    await run("export", "--policies", "--output", "policies.jsonl");
    await run("export", "--output", "evidence.jsonl");
    expect(
      (await run("verify", "--file", "policies.jsonl", "--expect-head", head)).stderr,
    ).toContain("is an export of policies; --expect-head and --anchor are for evidence");
    expect(
      (await run("verify", "--file", "evidence.jsonl", "--policy-head", head)).stderr,
    ).toContain("is an export of evidence");
    const beyond = `7${head.slice(1)}`;
    expect(
      (await run("verify", "--file", "policies.jsonl", "--policy-head", beyond)).stderr,
    ).toContain("position 7 cannot be checked: the export covers 0 to 6");
  });

  it.each([
    [
      ["export", "--policies", "--after", "1"],
      "--after: has no effect with --policies, which exports the whole policy log; leave it out",
    ],
    [
      ["export", "--policies", "--until", "1"],
      "--until: has no effect with --policies, which exports the whole policy log; leave it out",
    ],
    [
      ["export", "--policies", "--workspace", "acme"],
      "--workspace: has no effect with --policies, which exports the whole policy log; leave it out",
    ],
    [["verify", "--policies"], "--policies: has no effect on evidence verify"],
    [["verify", "--policy-head", "6"], "--policy-head: give POSITION:HASH"],
  ])("refuses %j with exit 2", async (argv, complaint) => {
    expect(await run(...argv)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(complaint),
    });
  });
});
