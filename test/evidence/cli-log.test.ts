import { execFileSync, spawnSync } from "node:child_process";
import fs, {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";

import { GENESIS } from "../../src/evidence/chain.ts";
import { evidence } from "../../src/cli/evidence/evidence.ts";
import { writeExport } from "../../src/cli/evidence/evidence.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import type { Store } from "../../src/store/port.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { storeEngine } from "../../src/store/sqlite/store-engine.ts";
import { runCommand } from "../keys/command.ts";
import { content, Story } from "../lifecycle/policy-rows.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../store/records.ts";
import { changeRecord } from "../store/stored-rows.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { programAtHand } from "../support/at-hand.ts";

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../docs/evidence.md"), "utf8");

let cwd: string;
let store: Store;
beforeEach(async () => {
  cwd = temporaryFolder();
  store = await openSqliteStore({ path: join(cwd, ".signalbox", "signalbox.db") });
  return () => store.close();
});
const run = (...argv: string[]) => runCommand(evidence, argv, { cwd });

/** Three requests of two workspaces, the last still running: rows d1 o1 d2 o2 d3. */
async function fill(at = 1_795_000_000_000): Promise<void> {
  for (const [id, workspace] of [
    ["r1", "acme"],
    ["r2", "grüße"],
    ["r3", "acme"],
  ] as const) {
    await recordDecision(
      store.evidence,
      decisionRecord(id, { workspace: asIdentifier(workspace), at }),
    );
    if (id !== "r3") store.evidence.settle({ ...outcomeRecord(id), at });
    await store.evidence.flush();
  }
}

/** Writes what runs: it is read from the log again where it is not written yet. */
const checkpoint = (): Promise<unknown> => store.summary.workspaces();

const TEXT = "CAST(records AS TEXT)";
const RECORDS = "UPDATE evidence_batches SET records = CAST(";
const REST = "hash, lowest, highest, workspaces, records";

/** What somebody does who owns the file. */
function tamper(...statements: readonly string[]): void {
  const database = new DatabaseSync(join(cwd, ".signalbox", "signalbox.db"), {
    enableForeignKeyConstraints: false,
    timeout: 5_000,
  });
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  for (const statement of statements) database.exec(statement);
  database.close();
}

describe("evidence verify", () => {
  it("prints the verified rows and both heads", async () => {
    await fill();
    const { position, hash } = await store.evidence.head();
    expect(await run("verify")).toEqual({
      code: 0,
      stdout:
        `verified 5 rows from the first row on\nwithout an outcome yet: 1\nhead ${position}:${hash}\n` +
        "end: not proven (it reaches what the server noted in signalbox.db-head, which an owner of the database can change); " +
        "missing rows at the end show only with a head noted elsewhere (--anchor)\n" +
        `verified 0 rows of policies\npromotions: 0\nrollbacks: 0\nreports of approvers: 0 recomputed by the server, 0 only claimed\n` +
        `contents stored: 0\npolicy head 0:${"0".repeat(64)}\n` +
        "policy end: not proven; missing rows at the end show only with a head noted elsewhere (--policy-head)\n",
      stderr: "",
    });
  });

  it("verifies an empty log", async () => {
    expect(await run("verify")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("verified 0 rows"),
    });
  });

  it.each([
    [
      `${RECORDS} replace(${TEXT}, '"requestId":"r', '"requestId":"x') AS BLOB) WHERE last IN (2, 3)`,
      "position 2",
      "hash",
    ],
    [`${RECORDS} replace(${TEXT}, '"at":', '"At":') AS BLOB) WHERE last = 3`, "position 3", "hash"],
    [
      "UPDATE evidence_batches SET hash = (SELECT hash FROM evidence_batches WHERE last = 1) WHERE last = 2",
      "position 2",
      "hash",
    ],
    ["DELETE FROM evidence_batches WHERE last = 3", "position 3", "gap"],
    ["DELETE FROM evidence_batches WHERE last = 1", "position 1", "gap"],
    ["UPDATE evidence_batches SET last = 9 WHERE last = 4", "position 4", "gap"],
    [
      `UPDATE evidence_batches SET records = (SELECT records FROM evidence_batches AS other
        WHERE other.last = 8 - evidence_batches.last) WHERE last IN (3, 5)`,
      "position 3",
      "hash",
    ],
    [
      `INSERT INTO evidence_batches SELECT 6, 6, ${REST} FROM evidence_batches WHERE last = 5`,
      "position 6",
      "hash",
    ],
    [
      "UPDATE evidence_batches SET workspaces = '[\"beta\"]' WHERE last = 4",
      "position 4",
      "column",
    ],
    ["UPDATE evidence_batches SET workspaces = '[]' WHERE last = 3", "position 3", "column"],
    ["UPDATE evidence_batches SET highest = 'r2' WHERE last = 5", "position 5", "column"],
    ["UPDATE evidence_batches SET lowest = 'r2' WHERE last = 2", "position 2", "column"],
    [
      "UPDATE evidence_batches SET records = substr(records, 1, 90) WHERE last = 3",
      "position 3",
      "hash",
    ],
    ["UPDATE evidence_batches SET records = x'' WHERE last = 5", "position 5", "hash"],
    ["DELETE FROM evidence_requests", "position 5", "column"],
    ["INSERT INTO evidence_requests VALUES ('r2', 2, 1, 'acme')", "position 4", "column"],
  ])("finds %s", async (statement, position, cause) => {
    await fill();
    await checkpoint();
    tamper(statement);
    const { code, stderr, stdout } = await run("verify");
    expect([code, stdout]).toEqual([1, expect.not.stringContaining("from the first row on")]);
    expect(stderr).toContain(`the log does not verify at ${position}: `);
    expect(stderr).toContain(`(${cause})`);
  });

  it("names the position of a changed record within a batch", async () => {
    await Promise.all(
      ["r1", "r2", "r3", "r4"].map((id) => recordDecision(store.evidence, decisionRecord(id))),
    );
    tamper();
    const database = new DatabaseSync(join(cwd, ".signalbox", "signalbox.db"), { timeout: 5_000 });
    expect(database.prepare("SELECT count(*) AS count FROM evidence_batches").get()).toEqual({
      count: 1,
    });
    changeRecord(database, 3, (record) => record.replace("to_4k", "to_1k"));
    database.close();
    expect((await run("verify")).stderr).toContain("the log does not verify at position 3: ");
  });

  it("checks a head noted elsewhere", async () => {
    await fill();
    const noted = (await run("anchor")).stdout.trim();
    expect(noted).toMatch(/^5:[0-9a-f]{64}$/);
    await recordDecision(store.evidence, decisionRecord("r4"));
    expect((await run("verify", "--expect-head", noted, "--anchor", noted)).code).toBe(0);
    const other = `${noted.slice(0, 2)}${"f".repeat(64)}`;
    for (const flag of ["--expect-head", "--anchor"]) {
      const { code, stderr } = await run("verify", flag, other);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining("position 5: the hash at this position differs"),
      ]);
    }
    expect((await run("verify", "--expect-head", `9${noted.slice(1)}`)).stderr).toContain(
      `position 7: it ends at 6:${(await store.evidence.head()).hash}, before 9${noted.slice(1)}, which was noted`,
    );
    await checkpoint();
    tamper("DELETE FROM evidence_anchors", "DELETE FROM evidence_batches WHERE last > 3");
    expect((await run("verify")).stderr).toContain("position 4: it ends at 3:");
    rmSync(join(cwd, ".signalbox", "signalbox.db-head"));
    // What runs is not what it was; a forger who sets that right too is found by what was noted
    // only.
    expect((await run("verify")).stderr).toContain("position 3");
    tamper(
      "DELETE FROM evidence_requests",
      "INSERT INTO evidence_requests VALUES ('r2', 2, 1, 'acme')",
    );
    expect(await run("verify")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("\nend: not proven; "),
    });
    expect((await run("verify", "--expect-head", noted)).code).toBe(1);
  });

  it("reads anchors from a file, and reports the position up to which they prove the end", async () => {
    await fill();
    const noted = (await run("anchor")).stdout;
    writeFileSync(join(cwd, "noted"), `\n${noted}`);
    expect((await run("verify", "--anchor", "noted")).stdout).toContain(
      "\nend: nothing is missing up to 5, as a head noted elsewhere proves\n",
    );
    await recordDecision(store.evidence, decisionRecord("r4"));
    expect((await run("verify", "--anchor", "noted")).stdout).toContain(
      "\nend: proven up to 5 by a head noted elsewhere; the 1 rows after it are not (",
    );
    const longer = `9:${"f".repeat(64)}`;
    writeFileSync(join(cwd, "noted"), `${noted}${longer}\n`);
    const { code, stderr } = await run("verify", "--anchor", "noted");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`before ${longer}, which was noted`),
    ]);
    writeFileSync(join(cwd, "noted"), "5:abc\n");
    for (const [flag, message] of [
      ["noted", "--anchor: give POSITION:HASH"],
      ["nothing", "there is no such file that can be read"],
    ] as const) {
      expect(await run("verify", "--anchor", flag)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(message),
      });
    }
  });

  it("prints the same as JSON", async () => {
    await fill();
    const { position, hash } = await store.evidence.head();
    const verified = await run("verify", "--format", "json");
    expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([
      0,
      {
        log: {
          verified: true,
          rows: 5,
          head: `${position}:${hash}`,
          end: { proven: false, proven_to: null, noted_by_server: `${position}:${hash}` },
        },
        policies: { verified: true, rows: 0, end: { proven: false } },
      },
    ]);
    const anchored = await run("verify", "--format", "json", "--anchor", `${position}:${hash}`);
    expect(JSON.parse(anchored.stdout)).toMatchObject({
      log: { end: { proven: true, proven_to: 5 } },
    });
    const longer = `9:${"f".repeat(64)}`;
    const cut = await run("verify", "--format", "json", "--anchor", longer);
    expect([cut.code, cut.stderr, JSON.parse(cut.stdout)]).toMatchObject([
      1,
      "",
      {
        log: {
          verified: false,
          position: 6,
          cause: "end",
          message: expect.stringContaining(longer),
        },
      },
    ]);
  });

  it("changes no byte of the file, nor do tail and export, and requires no write permission", async () => {
    await fill();
    await store.close();
    const path = join(cwd, ".signalbox", "signalbox.db");
    for (const mode of [0o640, 0o444]) {
      chmodSync(path, mode);
      chmodSync(join(cwd, ".signalbox"), mode === 0o444 ? 0o555 : 0o755);
      const before = [readFileSync(path), statSync(path).mtimeMs, statSync(path).mode];
      for (const command of ["verify", "tail", "export"]) {
        expect(await run(command, "--database", path), command).toMatchObject({
          code: 0,
          stderr: "",
        });
      }
      expect([readFileSync(path), statSync(path).mtimeMs, statSync(path).mode]).toEqual(before);
    }
    chmodSync(join(cwd, ".signalbox"), 0o755);
  });

  it("does not bring a file of another version up to date", async () => {
    await store.close();
    tamper("UPDATE migrations SET version = 7");
    const { code, stderr } = await run("verify");
    expect([code, stderr]).toEqual([1, expect.stringContaining("schema version 7")]);
  });

  it("accepts a log whose pruning was interrupted, and the next prune completes it", async () => {
    await fill(1_000);
    const database = openDatabase(join(cwd, ".signalbox", "signalbox.db"), 1_000);
    const step = { operation: "evidence.deleteThrough", parameters: [4, 1, 3_000] } as const;
    expect(storeEngine(database, () => {}).answer(step, 3_000)).toEqual({
      kind: "done",
      value: 1,
    });
    database.close();
    expect(await run("verify")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("verified 4 rows after the anchor 1\n"),
    });
    expect(await store.evidence.prune(2_000, 4_000)).toMatchObject({
      anchor: { position: 4, at: 3_000 },
      rows: 3,
    });
    expect((await store.evidence.anchors()).map(({ position }) => position)).toEqual([4]);
    expect((await run("verify")).code).toBe(0);
  });

  it("verifies the rows after a prune, from its anchor", async () => {
    await fill(1_000);
    const whole = await store.evidence.log({ after: 0, limit: 9 });
    const [first, second] = whole.map(({ position, hash }) => `${position}:${hash}`);
    await store.evidence.prune(2_000, 3_000);
    expect(await run("verify")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("verified 1 rows after the anchor 4\n"),
    });
    expect((await run("verify", "--anchor", `4:${whole[3]?.hash}`)).code).toBe(0);
    expect((await run("verify", "--anchor", `4:${whole[0]?.hash}`)).stderr).toContain(
      "does not verify at position 4",
    );
    expect((await run("verify", "--anchor", second ?? "")).stderr).toContain(
      "position 2 cannot be checked: rows up to 4 were pruned",
    );
    expect(first).toBeDefined();
    tamper("DELETE FROM evidence_anchors", "DELETE FROM evidence_start");
    expect((await run("verify")).stderr).toContain("position 1: a row is missing");
  });
});

describe("evidence prune", () => {
  it("deletes up to a date", async () => {
    await fill(Date.parse("2026-09-30T12:00:00Z"));
    expect(await run("prune", "--before", "2026-09-30", "--yes")).toMatchObject({
      code: 0,
      stdout: "nothing to delete\n",
    });
    const { code, stdout } = await run("prune", "--before", "2026-10-01", "--yes");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^deleted 4 rows; the log begins after anchor 4:[0-9a-f]{64}\n$/);
    expect(await store.evidence.log({ after: 0, limit: 9 })).toHaveLength(1);
  });

  it("changes nothing without --yes", async () => {
    await fill(1_000);
    expect((await run("prune", "--before", "2026-10-01")).code).toBe(2);
    expect(await store.evidence.log({ after: 0, limit: 9 })).toHaveLength(5);
  });
});

describe("evidence export", () => {
  const exported = (): string => join(cwd, "evidence.jsonl");
  const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");

  it("writes each row with its record to the byte, and verifies as a file", async () => {
    await fill();
    expect(await run("export", "--output", "evidence.jsonl")).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
    expect((statSync(exported()).mode & 0o777).toString(8)).toBe("600");
    const [header = "", ...rows] = linesOf(exported());
    const { head, log } = {
      head: await store.evidence.head(),
      log: await store.evidence.log({ after: 0, limit: 9 }),
    };
    expect(JSON.parse(header)).toEqual({
      format: "signalbox.evidence.log.v1",
      from: { position: 0, hash: "0".repeat(64) },
      to: head,
      workspace: null,
    });
    expect(rows.map((line) => (JSON.parse(line) as { record: object }).record)).toEqual(
      log.map(({ record }) => JSON.parse(record) as object),
    );
    for (const [index, line] of rows.entries()) expect(line).toContain(log[index]?.record);
    const { code, stdout } = await run("verify", "--file", "evidence.jsonl");
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(`verified 5 rows after 0:${"0".repeat(64)}`),
    ]);
    expect((await run("export", "--output", "evidence.jsonl")).stderr).toContain(
      "--output: the file exists already",
    );
    expect((await run("export")).stdout).toBe(readFileSync(exported(), "utf8"));
  });

  it.for([
    ["sh", /```sh\n([\s\S]*?)```/, (code: string) => ["-c", code]],
    ["python3", /```python\n([\s\S]*?)```/, (code: string) => ["-c", code, "evidence.jsonl"]],
  ] as const)(
    "verifies with %s alone, by the command in the document",
    async ([program, pattern, argumentsOf], context) => {
      if (programAtHand(program) === null) return context.skip(`${program} is not here`);
      await fill();
      const code = pattern.exec(DOCUMENT)?.[1] ?? "exit 9";
      const check = () => spawnSync(program, argumentsOf(code), { cwd, encoding: "utf8" });
      await store.policyLog.append(
        GENESIS,
        new Story().observed(content("a", 1)).promoted(null, content("a", 1)).rows,
      );
      await run("export", "--policies", "--output", "policies.jsonl");
      const policies = (): string[] => {
        const { status, stdout } = spawnSync(
          program,
          argumentsOf(code).map((text) => text.replaceAll("evidence.jsonl", "policies.jsonl")),
          { cwd, encoding: "utf8" },
        );
        return [`${status}`, stdout];
      };
      expect(policies()).toEqual(["0", expect.stringContaining("verified")]);
      const exportedPolicies = join(cwd, "policies.jsonl");
      writeFileSync(
        exportedPolicies,
        readFileSync(exportedPolicies, "utf8").replace('"slot":"candidate"', '"slot":"enforced"'),
      );
      expect(policies()[0]).toBe("1");
      await run("export", "--output", "evidence.jsonl");
      const right = check();
      expect([right.status, right.stderr]).toEqual([0, ""]);
      expect(right.stdout).toContain("verified");
      const text = readFileSync(exported(), "utf8");
      writeFileSync(exported(), text.replace('"requestId":"r2"', '"requestId":"r9"'));
      const wrong = check();
      expect(wrong.status).toBe(1);
      expect(wrong.stdout + wrong.stderr).toContain("row 3 does not verify");
      writeFileSync(exported(), text);
      execFileSync("sed", ["-i", "3d", exported()]);
      expect(check().stdout + check().stderr).toContain("row 3 does not verify");
    },
  );

  it("writes the file under its name only when it is complete, and leaves none on a full disk", async () => {
    const whole = join(cwd, "whole.jsonl");
    const io = { stdout: () => {}, stderr: () => {}, environment: {}, cwd };
    const one = async function* () {
      yield "one";
      expect(existsSync(whole)).toBe(false);
    };
    await writeExport(whole, io, one());
    expect(readFileSync(whole, "utf8")).toBe("one\n");
    expect(readdirSync(cwd).filter((name) => name.includes("partial"))).toEqual([]);
    await expect(writeExport(whole, io, one())).rejects.toThrow("exists already");

    const write = vi.spyOn(fs, "write");
    onTestFinished(() => {
      write.mockRestore();
    });
    write.mockImplementation((...given: unknown[]) => {
      const error = Object.assign(new Error("no space left"), { code: "ENOSPC" });
      const callback = given.at(-1);
      if (typeof callback === "function")
        setImmediate(() => Reflect.apply(callback, null, [error, 0]));
    });
    const two = async function* () {
      yield "two";
    };
    const full = writeExport(join(cwd, "full.jsonl"), io, two());
    await expect(full).rejects.toThrow("cannot be written (ENOSPC)");
    expect(readdirSync(cwd).filter((name) => name.startsWith("full"))).toEqual([]);
  });

  it("of a part verifies from where it begins", async () => {
    await fill();
    await run("export", "--after", "1", "--until", "4", "--output", "evidence.jsonl");
    expect(linesOf(exported())).toHaveLength(4);
    expect((await run("verify", "--file", "evidence.jsonl")).stdout).toContain(
      "verified 3 rows after 1:",
    );
    const { hash } = (await store.evidence.log({ after: 2, limit: 1 }))[0] ?? { hash: "" };
    expect(
      (await run("verify", "--file", "evidence.jsonl", "--expect-head", `3:${hash}`)).code,
    ).toBe(0);
    expect(
      (await run("verify", "--file", "evidence.jsonl", "--expect-head", `3:${"a".repeat(64)}`))
        .code,
    ).toBe(1);
    expect(
      (await run("verify", "--file", "evidence.jsonl", "--expect-head", `5:${hash}`)).stderr,
    ).toContain("cannot be checked");
    expect((await run("export", "--after", "9")).stderr).toContain("--after: the log has no row 9");
    expect((await run("export", "--after", "3", "--until", "2")).stderr).toContain(
      "--until: is before",
    );
  });

  it("joins with the rows after a prune", async () => {
    await fill(1_000);
    await run("export", "--until", "4", "--output", "old.jsonl");
    await store.evidence.prune(2_000, 3_000);
    await run("export", "--output", "evidence.jsonl");
    const [before, after] = ["old.jsonl", "evidence.jsonl"].map(
      (name) => JSON.parse(linesOf(join(cwd, name))[0] ?? "") as { from: object; to: object },
    );
    expect(after?.from).toEqual(before?.to);
    expect((await run("verify", "--file", "evidence.jsonl")).code).toBe(0);
    expect((await run("export", "--after", "1")).stderr).toContain(
      "--after: rows up to 4 were pruned",
    );
  });

  it("of one workspace is marked as a selection", async () => {
    await fill();
    await run("export", "--workspace", "acme", "--output", "evidence.jsonl");
    expect(
      linesOf(exported())
        .slice(1)
        .map((line) => (JSON.parse(line) as { position: number }).position),
    ).toEqual([1, 2, 5]);
    expect((await run("verify", "--file", "evidence.jsonl")).stdout).toContain(
      "a selection of one workspace is not a chain",
    );
    writeFileSync(
      exported(),
      readFileSync(exported(), "utf8").replace('"requestId":"r3"', '"requestId":"r9"'),
    );
    expect((await run("verify", "--file", "evidence.jsonl")).stderr).toContain(
      "the export does not verify at position 5",
    );
    expect(
      (await run("verify", "--file", "evidence.jsonl", "--anchor", `1:${"0".repeat(64)}`)).stderr,
    ).toContain("holds a selection");
  });

  it.each([
    [
      "a row changed",
      (lines: string[]) =>
        lines.with(2, (lines[2] ?? "").replace('"requestId":"r1"', '"requestId":"r9"')),
      "position 2",
    ],
    ["a row gone", (lines: string[]) => lines.toSpliced(2, 1), "position 2"],
    ["its last row gone", (lines: string[]) => lines.slice(0, -1), "position 5"],
    ["a line that is none", (lines: string[]) => lines.with(2, "{}"), "line 3 is not a row"],
    ["no header", (lines: string[]) => lines.slice(1), "is not an export of evidence"],
    [
      "a header whose last hash is 800 kB of text",
      ([first = "", ...rows]: string[]) => [
        first.replace(
          /"to":\{"position":\d+,"hash":"/,
          `"to":{"position":99,"hash":"${"\\u001b".repeat(133_000)}`,
        ),
        ...rows,
      ],
      "is not an export of evidence",
    ],
    ["nothing", () => [""], "is not an export of evidence"],
  ])("with %s does not verify", async (_, edit, complaint) => {
    await fill();
    await run("export", "--output", "evidence.jsonl");
    writeFileSync(
      exported(),
      edit(linesOf(exported()))
        .map((line) => `${line}\n`)
        .join(""),
    );
    const { code, stderr } = await run("verify", "--file", "evidence.jsonl");
    expect(code).toBe(1);
    expect(stderr).toContain(complaint);
  });

  it("that cannot be read is an error with its flag", async () => {
    expect(await run("verify", "--file", "nothing.jsonl")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--file: cannot be read"),
    });
  });
});
