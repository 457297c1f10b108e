/**
 * What the chain costs: appends through the table's own code, beside the same statements without hashes, in one run;
 * and how long a prune keeps appends waiting. `npm exec -- node bench/evidence.ts`
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chainHash, GENESIS } from "../src/evidence/chain.ts";
import { openDatabase } from "../src/store/sqlite/database.ts";
import { openSqliteStore } from "../src/store/sqlite/open.ts";
import { StoreEngine } from "../src/store/sqlite/store-engine.ts";
import type { DecisionFields, OutcomeFields } from "../src/store/evidence-batch.ts";
import { decisionRecord, outcomeRecord } from "../test/store/records.ts";

const BATCHES = 200;
const REQUESTS = 100;

interface Batch {
  readonly decisions: DecisionFields;
  readonly outcomes: OutcomeFields;
}

function batches(): readonly Batch[] {
  return Array.from({ length: BATCHES }, (_, batch) => {
    const decisions: DecisionFields = [];
    const outcomes: OutcomeFields = [];
    for (let number = 0; number < REQUESTS; number += 1) {
      const requestId = `req_${String(batch * REQUESTS + number).padStart(12, "0")}`;
      const [decision, outcome] = [decisionRecord(requestId), outcomeRecord(requestId)];
      decisions.push(decision.at, requestId, decision.workspace, JSON.stringify(decision));
      outcomes.push(outcome.at, requestId, JSON.stringify(outcome));
    }
    return { decisions, outcomes };
  });
}

/** Microseconds a request. */
function chained(path: string, work: readonly Batch[]): number {
  const database = openDatabase(path, 1_000);
  const engine = new StoreEngine(database, () => {});
  const startedAt = process.cpuUsage();
  for (const batch of work) {
    const reply = engine.answer({ operation: "evidence.append", ...batch }, Date.now());
    if (reply.kind !== "appended") throw new Error(reply.kind);
  }
  const time = cpuMicroseconds(startedAt);
  database.close();
  return perRequest(time);
}

/** What the version before the chain did for each request: a decision's row, and an outcome's beside it. */
function unchained(path: string, work: readonly Batch[]): number {
  const database = openDatabase(path, 1_000);
  database.exec(`
    CREATE TABLE decisions (sequence INTEGER PRIMARY KEY, process INTEGER NOT NULL, at INTEGER NOT NULL,
      request_id TEXT NOT NULL UNIQUE, workspace TEXT, record TEXT NOT NULL) STRICT;
    CREATE INDEX decisions_by_workspace ON decisions (workspace);
    CREATE TABLE outcomes (decision INTEGER PRIMARY KEY REFERENCES decisions (sequence), record TEXT NOT NULL) STRICT;`);
  const decide = database.prepare(
    "INSERT INTO decisions (process, at, request_id, workspace, record) VALUES (1, ?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING",
  );
  const settle = database.prepare(
    "INSERT INTO outcomes (decision, record) SELECT sequence, ? FROM decisions WHERE request_id = ? ON CONFLICT (decision) DO NOTHING",
  );
  const startedAt = process.cpuUsage();
  for (const { decisions, outcomes } of work) {
    database.exec("BEGIN IMMEDIATE");
    for (let index = 0; index < decisions.length; index += 4) decide.run(...decisions.slice(index, index + 4));
    for (let index = 0; index < outcomes.length; index += 3)
      settle.run(outcomes[index + 2] ?? "", outcomes[index + 1] ?? "");
    database.exec("COMMIT");
  }
  const time = cpuMicroseconds(startedAt);
  database.close();
  return perRequest(time);
}

function hashesAlone(work: readonly Batch[]): number {
  let { hash } = GENESIS;
  const startedAt = process.cpuUsage();
  for (const { decisions, outcomes } of work) {
    for (let index = 3; index < decisions.length; index += 4)
      hash = chainHash(hash, index, "decision", String(decisions[index]));
    for (let index = 2; index < outcomes.length; index += 3)
      hash = chainHash(hash, index, "outcome", String(outcomes[index]));
  }
  return perRequest(cpuMicroseconds(startedAt));
}

const perRequest = (microseconds: number): number => microseconds / (BATCHES * REQUESTS);

/** CPU, not time: other work on the machine then changes less. */
function cpuMicroseconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

/** Waits of decisions one after another, sorted, while `meanwhile` runs; milliseconds. */
async function waits(path: string, name: string, meanwhile: boolean): Promise<readonly number[]> {
  const store = await openSqliteStore({ path });
  const state = { done: !meanwhile };
  const pruning = meanwhile ? store.evidence.prune(Date.now(), Date.now()).finally(() => (state.done = true)) : null;
  const times: number[] = [];
  for (let number = 0; !state.done || times.length < 200; number += 1) {
    const startedAt = performance.now();
    await store.evidence.decide(decisionRecord(`${name}_${number}`, { at: Date.now() + 60_000 }));
    times.push(performance.now() - startedAt);
  }
  const pruned = await pruning;
  if (pruned !== null) process.stdout.write(`pruned ${pruned.rows} rows in steps meanwhile\n`);
  await store.close();
  return times.toSorted((one, other) => one - other);
}

const at = (times: readonly number[], share: number): string =>
  (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(2);

const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
try {
  const work = batches();
  const rounds = [0, 1, 2, 3, 4].map((round) => ({
    unchained: unchained(join(folder, `unchained-${round}.db`), work),
    chained: chained(join(folder, `chained-${round}.db`), work),
  }));
  const best = (name: "chained" | "unchained"): number => Math.min(...rounds.map((round) => round[name]));
  const [before, after, hashes] = [
    best("unchained"),
    best("chained"),
    Math.min(...[0, 1, 2].map(() => hashesAlone(work))),
  ];
  process.stdout.write(
    `a request (two rows, ${REQUESTS} requests a commit), microseconds of CPU, best of ${rounds.length}\n` +
      `  unchained ${before.toFixed(1)}, chained ${after.toFixed(1)}: ratio ${(after / before).toFixed(2)}; hashes alone ${hashes.toFixed(1)}\n`,
  );
  const path = join(folder, "chained-0.db");
  const calm = await waits(path, "calm", false);
  const busy = await waits(path, "busy", true);
  process.stdout.write(
    `a lone decision's wait, ms: calm p50 ${at(calm, 0.5)} p99 ${at(calm, 0.99)} max ${at(calm, 1)}; ` +
      `beside a prune p50 ${at(busy, 0.5)} p99 ${at(busy, 0.99)} max ${at(busy, 1)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
