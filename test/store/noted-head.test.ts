import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

import { evidence } from "../../src/cli/evidence/evidence.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { runCommand } from "../keys/command.ts";
import { decisionRecord, recordDecision } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const WRITER = fileURLToPath(new URL("./crash-writer.ts", import.meta.url));

/**
 * A database whose writer was killed without warning after it had acknowledged at least 20
 * decisions.
 */
async function killed(): Promise<{ readonly path: string; readonly cwd: string }> {
  const cwd = temporaryFolder();
  const path = join(cwd, "signalbox.db");
  const child = spawn(process.execPath, [WRITER, path, "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  const exited = once(child, "close");
  const enough = Promise.withResolvers<void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    if (printed.split("\n").length > 20) enough.resolve();
  });
  await Promise.race([enough.promise, exited]);
  child.kill("SIGKILL");
  await exited;
  return { path, cwd };
}

const start = (path: string) => openSqliteStore({ path, refuseCutEnd: true });
const verify = (cwd: string, ...flags: readonly string[]) =>
  runCommand(evidence, ["verify", "--database", "signalbox.db", ...flags], { cwd });

describe("a note that is removed while the store is open", () => {
  it("is made again within seconds, with the newest row", async () => {
    const path = join(temporaryFolder(), "signalbox.db");
    const store = await start(path);
    await recordDecision(store.evidence, decisionRecord("first"));
    rmSync(`${path}-head`);
    let number = 0;
    await expect
      .poll(async () => {
        await recordDecision(store.evidence, decisionRecord(`later-${(number += 1)}`));
        return existsSync(`${path}-head`);
      })
      .toBe(true);
    await expect
      .poll(async () => {
        const { position, hash } = await store.evidence.head();
        const newest = `${String(position).padStart(15, "0")}:${hash}\n`;
        return readFileSync(`${path}-head`, "utf8") === newest;
      })
      .toBe(true);
    await store.close();
  });
});

describe("a process that was killed", () => {
  it("leaves a note of the newest row, for its owner only, which the next start verifies", async () => {
    const { path, cwd } = await killed();
    expect(readFileSync(`${path}-head`, "utf8")).toMatch(/^\d{15}:[0-9a-f]{64}\n$/);
    expect(statSync(`${path}-head`).mode & 0o777).toBe(0o600);
    const { code, stdout } = await verify(cwd);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining("end: not proven (it reaches what the server noted"),
    ]);
    const store = await start(path);
    await recordDecision(store.evidence, decisionRecord("next"));
    const { position, hash } = await store.evidence.head();
    expect(readFileSync(`${path}-head`, "utf8")).toBe(
      `${String(position).padStart(15, "0")}:${hash}\n`,
    );
    await store.close();
  });

  it("is missed at the end of the log where its write-ahead log was removed", async () => {
    const { path, cwd } = await killed();
    const [position, hash] = readFileSync(`${path}-head`, "utf8").trim().split(":");
    renameSync(`${path}-wal`, `${path}-wal.away`);
    rmSync(`${path}-shm`);
    await expect(start(path)).rejects.toThrow(
      /the evidence ends at \d+:[0-9a-f]{64}, before \d+:[0-9a-f]{64}, which its server noted in signalbox\.db-head/,
    );
    await expect(start(path)).rejects.toThrow(`before ${Number(position)}:${hash}`);
    const { code, stderr } = await verify(cwd);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/it ends at \d+:[0-9a-f]{64}, before .* records are missing/),
    ]);
    expect(stderr).toContain(`before ${Number(position)}:${hash}`);
    // Commands work: a key must be revocable then too.
    const command = await openSqliteStore({ path });
    await command.keys.list();
    await command.close();
    rmSync(`${path}-wal`, { force: true });
    renameSync(`${path}-wal.away`, `${path}-wal`);
    await (await start(path)).close();
  });

  it("is forgotten when the note is removed, and verify reports the end as not proven", async () => {
    const { path, cwd } = await killed();
    rmSync(`${path}-wal`);
    rmSync(`${path}-head`);
    await (await start(path)).close();
    const { code, stdout } = await verify(cwd);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^end: not proven; missing rows at the end/m),
    ]);
    expect(existsSync(`${path}-head`)).toBe(false);
  });
});

describe("a note that is not of this log", () => {
  it.each([
    [
      "another hash",
      (head: string) => head.replace(/:./, (first) => (first === ":0" ? ":1" : ":0")),
      "is not the log",
    ],
    [
      "a position behind the end",
      () => `${"9".repeat(15)}:${"a".repeat(64)}\n`,
      "the evidence ends at",
    ],
  ])("keeps a server from starting where it has %s", async (_, change, message) => {
    const { path } = await killed();
    writeFileSync(`${path}-head`, change(readFileSync(`${path}-head`, "utf8")));
    await expect(start(path)).rejects.toThrow(message);
  });

  it("is passed over where it cannot be read", async () => {
    const { path } = await killed();
    writeFileSync(`${path}-head`, "");
    const store = await start(path);
    expect(store.evidence.health().state).toBe("ok");
    await store.close();
  });
});
