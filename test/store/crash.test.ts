import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

import { summarise } from "../../src/governance/summarise.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { groupingOf } from "../governance/agreement.ts";
import { storedRows } from "./stored-rows.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const WRITER = fileURLToPath(new URL("./crash-writer.ts", import.meta.url));
const ROUNDS = 30;

/** Starts a writer, kills it without warning at a random moment, and gives the request ids it had acknowledged. */
async function killedWriter(path: string, round: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [WRITER, path, `${round}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const printed: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  const exited = once(child, "close");
  await Promise.race([once(child.stdout, "data"), exited]);
  await delay(Math.random() * 60);
  child.kill("SIGKILL");
  await exited;
  // The last piece is a line that was cut off, or empty.
  return printed.join("").split("\n").slice(0, -1);
}

it(`keeps every acknowledged decision over ${ROUNDS} kills`, { timeout: 120_000 }, async () => {
  const path = join(temporaryFolder(), "signalbox.db");
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) acknowledged.push(...(await killedWriter(path, round)));
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * 8);

  const database = new DatabaseSync(path);
  expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  const kept = new Set(
    [...storedRows(database)].filter(({ kind }) => kind === "decision").map(({ requestId }) => requestId),
  );
  expect(acknowledged.filter((requestId) => !kept.has(requestId))).toEqual([]);
  const ended = [...storedRows(database)].filter(({ kind }) => kind === "outcome").length;
  const open = kept.size - ended;
  // As if a lease's time had passed: the processes are dead, but none could say so.
  database.exec("UPDATE processes SET seen_at = seen_at - 60000");
  database.close();

  const store = await openSqliteStore({ path });
  // What the killed processes had counted and not written is counted again, and nothing twice.
  const totals = async (): Promise<object> => {
    const window = { workspace: "acme-prod", from: 0, until: 1_000_000 };
    const { requests, running } = (await summarise((facet) => store.summary.read({ ...window, facet }), groupingOf([])))
      .totals;
    return { requests, running };
  };
  expect(await totals()).toEqual({ requests: kept.size, running: open });
  const newest = await store.evidence.read({ after: 0, limit: 2_000 });
  expect(newest.every(({ outcome }) => outcome !== null)).toBe(true);
  expect(newest.filter(({ outcome }) => outcome?.terminal === "unknown").length).toBeGreaterThan(0);
  await store.evidence.prune(0, Date.now());
  expect(await totals()).toEqual({ requests: kept.size, running: 0 });
  await store.close();
});
