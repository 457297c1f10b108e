/**
 * What evidence costs: CPU of hashing, storing and counting a request; how long a decision waits at
 * several rates; and whether a prune keeps decisions waiting. `npm run bench -- evidence`
 *
 * With SIGNALBOX_BENCH_POSTGRES_URL, which names an empty database of a server on this machine: the
 * same waits over PostgreSQL, and the CPU of its processes.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { GENESIS } from "../src/evidence/chain.ts";
import { type NewRecord, sealBatch } from "../src/store/batch/batch-lines.ts";
import { decisionOf, outcomeOf } from "../src/store/stored-evidence.ts";
import type { Store } from "../src/store/port.ts";
import { openPostgresStore } from "../src/store/postgres/open.ts";
import { openDatabase } from "../src/store/sqlite/database.ts";
import { openSqliteStore } from "../src/store/sqlite/open.ts";
import { storeEngine } from "../src/store/sqlite/store-engine.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../test/store/records.ts";
import { measureReplicas } from "./evidence-replicas.ts";
import { cpuMicroseconds } from "./process-figures.ts";

const BATCHES = 200;
const REQUESTS = 100;
/** Requests a second. */
const RATES = [1, 50, 500, 5_000];
const SECONDS = 4;

/** As the server makes them (`http/send.ts`). */
let made = 0;
const newId = (): string => {
  made += 1;
  return `req_${Date.now().toString(16).padStart(12, "0")}${made.toString(16).padStart(20, "0")}`;
};

function batches(): readonly (readonly NewRecord[])[] {
  return Array.from({ length: BATCHES }, () => {
    const ids = Array.from({ length: REQUESTS }, newId);
    return [
      ...ids.map((id) => decisionOf(decisionRecord(id))),
      ...ids.map((id) => outcomeOf(outcomeRecord(id))),
    ];
  });
}

/** Microseconds of CPU a request of each part, without waiting for the disk. */
function parts(path: string): Readonly<Record<string, number>> {
  const database = openDatabase(path, 1_000);
  database.exec("PRAGMA synchronous = OFF");
  const engine = storeEngine(database, () => {});
  const work = batches();
  const seal = cpu(() => {
    for (const records of work) sealBatch(GENESIS, records, []);
  });
  let [append, count] = [0, 0];
  for (const records of work) {
    append += cpu(() => {
      const reply = engine.answer(
        { operation: "evidence.append", parameters: [records] },
        Date.now(),
      );
      if (reply.kind !== "done") throw new Error(reply.kind);
    });
    count += cpu(() => engine.settle());
  }
  const checkpoint = cpu(() =>
    engine.answer({ operation: "summary.write", parameters: [] }, Date.now()),
  );
  database.close();
  return { append, "of that hashes and lines": seal, count, checkpoint };
}

/** CPU a request, not time: other work on the machine then changes less. Microseconds. */
function cpu(action: () => void): number {
  const since = process.threadCpuUsage();
  action();
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / (BATCHES * REQUESTS);
}

interface Waits {
  /** Sorted, milliseconds. */
  readonly times: readonly number[];
  readonly refused: number;
  /** CPU a request, microseconds: of this thread, and of all others. */
  readonly main: number;
  readonly others: number;
}

/**
 * Waits of decisions that arrive at random moments, `rate` a second; each request ends 20 ms later.
 */
async function waitsAt(store: Store, rate: number): Promise<Waits> {
  const count = Math.max(10, rate * SECONDS);
  const times: number[] = [];
  const [main, all] = [process.threadCpuUsage(), process.cpuUsage()];
  const running: Promise<void>[] = [];
  let refused = 0;
  const ask = async (): Promise<void> => {
    const requestId = newId();
    const began = performance.now();
    try {
      await recordDecision(store.evidence, decisionRecord(requestId, { at: Date.now() }));
      times.push(performance.now() - began);
    } catch {
      // A disk that is slower than a second: such a request is refused.
      refused += 1;
    }
    setTimeout(() => store.evidence.settle({ ...outcomeRecord(requestId), at: Date.now() }), 20);
  };
  for (let next = performance.now(); running.length < count;) {
    next += (-Math.log(1 - Math.random()) / rate) * 1_000;
    const early = next - performance.now();
    if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
    // Requests come from the network: each turn of the event loop brings some.
    else await new Promise((resolve) => setImmediate(resolve));
    running.push(ask());
  }
  await Promise.all(running);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await store.evidence.flush().catch(() => undefined);
  const [mainUsed, allUsed] = [process.threadCpuUsage(main), process.cpuUsage(all)];
  const own = mainUsed.user + mainUsed.system;
  return {
    times: times.toSorted((one, other) => one - other),
    refused,
    main: own / count,
    others: (allUsed.user + allUsed.system - own) / count,
  };
}

/** Waits of decisions one after another, sorted, while `meanwhile` runs; milliseconds. */
async function waitsBesidePrune(
  path: string,
  name: string,
  meanwhile: boolean,
): Promise<readonly number[]> {
  const store = await openSqliteStore({ path });
  const state = { done: !meanwhile };
  const pruning = meanwhile
    ? store.evidence.prune(Date.now(), Date.now()).finally(() => (state.done = true))
    : null;
  const times: number[] = [];
  for (let number = 0; !state.done || times.length < 200; number += 1) {
    const startedAt = performance.now();
    await recordDecision(
      store.evidence,
      decisionRecord(`${name}_${number}`, { at: Date.now() + 60_000 }),
    );
    times.push(performance.now() - startedAt);
  }
  const pruned = await pruning;
  if (pruned !== null) process.stdout.write(`pruned ${pruned.rows} rows in steps meanwhile\n`);
  await store.close();
  return times.toSorted((one, other) => one - other);
}

/** Prints a line for each rate, then closes the store. */
async function writeWaits(store: Store, databaseCpu?: () => number): Promise<void> {
  await waitsAt(store, 500);
  for (const rate of RATES) {
    const before = databaseCpu?.() ?? 0;
    const { times, refused, main, others } = await waitsAt(store, rate);
    // The server's processes are not of this one.
    const rest =
      databaseCpu === undefined ? others : (databaseCpu() - before) / Math.max(10, rate * SECONDS);
    process.stdout.write(
      `  ${String(rate).padStart(5)}: ${at(times, 0.5)} ${at(times, 0.99)} ${at(times, 1)}; ${main.toFixed(0)} ${rest.toFixed(0)}${refused > 0 ? `; refused ${refused}` : ""}\n`,
    );
  }
  await store.close();
}

/** Microseconds of CPU that all processes of PostgreSQL on this machine have used. */
function postgresCpu(): number {
  let sum = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const program = readFileSync(`/proc/${name}/comm`, "utf8").trim();
      if (program === "postgres") sum += cpuMicroseconds(Number(name)) ?? 0;
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum;
}

const at = (times: readonly number[], share: number): string =>
  (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(2);

if (process.argv.length > 2) {
  await measureReplicas(process.argv.slice(2));
  process.exit();
}
const url = process.env.SIGNALBOX_BENCH_POSTGRES_URL;
const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
try {
  if (url !== undefined) {
    process.stdout.write(
      "PostgreSQL; requests a second: wait of a decision p50, p99, max in ms; CPU a request of this process's main thread and of the database in µs\n",
    );
    await writeWaits(await openPostgresStore({ url }), postgresCpu);
    process.exit();
  }
  const path = join(folder, "parts-0.db");
  const rounds = [0, 1, 2].map((round) => parts(join(folder, `parts-${round}.db`)));
  process.stdout.write(
    `a request (two records, ${REQUESTS} requests a batch), microseconds of CPU, best of ${rounds.length}\n `,
  );
  for (const name of Object.keys(rounds[0] ?? {})) {
    process.stdout.write(
      ` ${name} ${Math.min(...rounds.map((round) => round[name] ?? 0)).toFixed(1)}`,
    );
  }
  process.stdout.write(
    "\nrequests a second: wait of a decision p50, p99, max in ms; CPU a request of the main thread and of the others in µs\n",
  );
  await writeWaits(await openSqliteStore({ path: join(folder, "waits.db") }));
  const calm = await waitsBesidePrune(path, "calm", false);
  const busy = await waitsBesidePrune(path, "busy", true);
  process.stdout.write(
    `a lone decision's wait, ms: calm p50 ${at(calm, 0.5)} p99 ${at(calm, 0.99)} max ${at(calm, 1)}; ` +
      `beside a prune p50 ${at(busy, 0.5)} p99 ${at(busy, 0.99)} max ${at(busy, 1)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
