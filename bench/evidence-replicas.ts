/**
 * How long decisions wait for PostgreSQL where many replicas write.
 * `npm run bench -- evidence --replicas 1,10,50,100` [`--rate 2000`, decisions a second of all
 * replicas together] [`--seconds 6`]. The server is started as the tests do, with its disk
 * synchronised; the replicas are stores of this process, each with its own connections, and
 * decisions arrive at random moments. Beside each line: one plain INSERT a decision over as many
 * connections, which is the least that PostgreSQL needs for it.
 */
import { parseArgs } from "node:util";
import postgres from "postgres";

import type { Store } from "../src/store/port.ts";
import { openPostgresStore } from "../src/store/postgres/open.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../test/store/records.ts";
import { startTestServer } from "../test/store/postgres/server.ts";

interface Waits {
  /** Sorted, milliseconds. */
  readonly times: readonly number[];
  readonly refused: number;
}

let made = 0;
const newId = (): string => {
  made += 1;
  return `req_${Date.now().toString(16).padStart(12, "0")}${made.toString(16).padStart(20, "0")}`;
};

/** Calls `write` at random moments, `rate` a second. */
async function waits(rate: number, seconds: number, write: () => Promise<void>): Promise<Waits> {
  const times: number[] = [];
  let refused = 0;
  const running: Promise<void>[] = [];
  const one = async (): Promise<void> => {
    const began = performance.now();
    try {
      await write();
      times.push(performance.now() - began);
    } catch {
      refused += 1;
    }
  };
  const end = performance.now() + seconds * 1_000;
  for (let next = performance.now(); next < end;) {
    next += (-Math.log(1 - Math.random()) / rate) * 1_000;
    const early = next - performance.now();
    await new Promise((resolve) =>
      early > 1 ? setTimeout(resolve, early) : setImmediate(resolve),
    );
    running.push(one());
  }
  await Promise.all(running);
  return { times: times.toSorted((left, right) => left - right), refused };
}

const any = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error("none");
  return item;
};

async function ofStores(
  url: string,
  replicas: number,
  rate: number,
  seconds: number,
): Promise<Waits> {
  const stores: Store[] = [];
  for (let number = 0; number < replicas; number += 1)
    stores.push(await openPostgresStore({ url }));
  const decide = async ({ evidence }: Store): Promise<void> => {
    const requestId = newId();
    setTimeout(() => evidence.settle({ ...outcomeRecord(requestId), at: Date.now() }), 200);
    await recordDecision(evidence, decisionRecord(requestId, { at: Date.now() }));
  };
  for (const store of stores) await decide(store);
  const measured = await waits(rate, seconds, () => decide(any(stores)));
  await new Promise((resolve) => setTimeout(resolve, 400));
  for (const store of stores) await store.close();
  return measured;
}

async function ofInserts(
  url: string,
  connections: number,
  rate: number,
  seconds: number,
): Promise<Waits> {
  const sql = postgres(url, { max: connections, onnotice: () => undefined });
  await sql`CREATE TABLE IF NOT EXISTS plain (id text PRIMARY KEY, record text)`;
  await Promise.all(Array.from({ length: connections }, () => sql`SELECT 1`));
  const measured = await waits(rate, seconds, async () => {
    const requestId = newId();
    await sql`INSERT INTO plain VALUES (${requestId}, ${JSON.stringify(decisionRecord(requestId))})`;
  });
  await sql.end();
  return measured;
}

const shown = ({ times, refused }: Waits): string => {
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} p99 ${at(0.99)} max ${at(0.9999)} ms, refused ${((refused * 100) / (times.length + refused)).toFixed(1)} %`;
};

export async function measureReplicas(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      replicas: { type: "string", default: "1,10,50,100,200" },
      rate: { type: "string", default: "2000" },
      seconds: { type: "string", default: "6" },
    },
  });
  const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
  const settings = [
    "fsync=on",
    "full_page_writes=on",
    "shared_buffers=128MB",
    "max_connections=1100",
  ];
  const server = await startTestServer(settings);
  try {
    process.stdout.write(`${rate} decisions a second of all replicas together\n`);
    for (const replicas of values.replicas.split(",").map(Number)) {
      const stores = await ofStores(await server.database(), replicas, rate, seconds);
      const inserts = await ofInserts(
        await server.database(),
        Math.min(replicas, 100),
        rate,
        seconds,
      );
      process.stdout.write(
        `${String(replicas).padStart(4)} replicas: ${shown(stores)}; plain INSERT: ${shown(inserts)}\n`,
      );
    }
  } finally {
    await server.close();
  }
}
