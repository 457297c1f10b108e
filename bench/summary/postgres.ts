import postgres from "postgres";

import { HOUR } from "../../src/governance/roll-up.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { fixtureCells, FROM, type StoredCell } from "./cells.ts";
import { randomFrom, request, WORKSPACES } from "./fixture.ts";
import { queryAll } from "./questions.ts";
import { recordDecision } from "../../test/store/records.ts";

/**
 * The questions of `main.ts` over PostgreSQL, and how fast records are counted.
 * `SIGNALBOX_BENCH_POSTGRES_URL` names an empty database.
 */
const url = process.env.SIGNALBOX_BENCH_POSTGRES_URL ?? "";
const RECORDS = 20_000;

const store = await openPostgresStore({
  url,
  bounds: { statementTimeout: 30_000 },
  evidence: { maxWait: 60_000 },
});
try {
  await count();
  const filled = await fill();
  console.log(`slowest: ${(await queryAll(store, filled)).toFixed(0)} ms`);
} finally {
  await store.close();
}

/** Writes records, and counts what of them is left. */
async function count(): Promise<void> {
  const random = randomFrom(2);
  const began = performance.now();
  for (let first = 0; first < RECORDS; first += 2_000) {
    const decided = Array.from({ length: 2_000 }, (_, index) => {
      const workspace = WORKSPACES[index % WORKSPACES.length];
      if (workspace === undefined) throw new Error("bench: no workspace");
      const { decision, outcome } = request(first + index, FROM * HOUR, workspace, random);
      return recordDecision(store.evidence, decision).then(() => store.evidence.settle(outcome));
    });
    await Promise.all(decided);
  }
  await store.evidence.flush();
  const written = performance.now();
  const sql = postgres(url, { max: 1 });
  const [row] = await sql`SELECT head.position - cursor.position AS left
    FROM signalbox.evidence_head AS head, signalbox.roll_up_cursor AS cursor`;
  await sql.end();
  await store.summary.workspaces();
  const [writing, counting] = [written - began, performance.now() - written];
  console.log(
    `${RECORDS} requests written in ${writing.toFixed(0)} ms; ${row?.left} rows left to count, in ${counting.toFixed(0)} ms`,
  );
}

async function fill(): Promise<{ readonly cells: number; readonly bytes: number }> {
  const sql = postgres(url, { max: 1 });
  let [cells, bytes] = [0, 0];
  let page: StoredCell[] = [];
  const put = async (): Promise<void> => {
    const rows = page.map(([w, f, h, l, cell]) => ({
      w,
      f,
      h,
      l,
      c: Buffer.from(cell).toString("base64"),
    }));
    await sql`INSERT INTO signalbox.roll_ups (workspace, facet, hour, labels, cell)
      SELECT item.w, item.f, item.h, item.l, decode(item.c, 'base64')
      FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS item (w text, f text, h bigint, l text, c text)
      ON CONFLICT DO NOTHING`;
    page = [];
  };
  for (const row of fixtureCells()) {
    page.push(row);
    cells += 1;
    bytes += row[4].length;
    if (page.length === 2_000) await put();
  }
  await put();
  await sql.end();
  return { cells, bytes };
}
