import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { HOUR } from "../../src/governance/roll-up.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { EvidenceTable } from "../../src/store/sqlite/tables/evidence-table.ts";
import { LogWriter } from "../../src/store/sqlite/tables/log-writer.ts";
import { ProcessLease } from "../../src/store/sqlite/tables/process-lease.ts";
import { RollUpTable } from "../../src/store/sqlite/tables/roll-up-table.ts";
import { Transaction } from "../../src/store/sqlite/tables/transaction.ts";
import { estateCells, FROM } from "./cells.ts";
import { randomFrom, request, WORKSPACES } from "./estate.ts";
import { askAll } from "./questions.ts";

/**
 * How long summaries of 30 days of ten million requests take, and what counting adds to writing evidence. The aims: 200 ms for
 * each question, and for the second a ratio to watch.
 */
const AIM = 200;

const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
try {
  await questions();
  appends();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function questions(): Promise<void> {
  const path = join(folder, "summary.db");
  await (await openSqliteStore({ path })).close();
  const filled = fill(path);
  const store = await openSqliteStore({ path });
  try {
    const worst = await askAll(store, filled);
    console.log(`slowest: ${worst.toFixed(0)} ms (aim: ${AIM} ms)`);
    if (worst > AIM) process.exitCode = 1;
  } finally {
    await store.close();
  }
}

function fill(path: string): { readonly cells: number; readonly bytes: number } {
  const database = new DatabaseSync(path);
  const put = database.prepare("INSERT INTO roll_ups (workspace, facet, hour, labels, cell) VALUES (?, ?, ?, ?, ?)");
  let cells = 0;
  let bytes = 0;
  database.exec("BEGIN");
  for (const row of estateCells()) {
    put.run(...row);
    cells += 1;
    bytes += row[4].length;
  }
  database.exec("COMMIT");
  database.close();
  return { cells, bytes };
}

/** The worker's time to write batches, with and without counting, in turns. */
function appends(): void {
  const BATCHES = 300;
  const SIZE = 25;
  const rounds = { counted: [] as number[], plain: [] as number[] };
  let id = 0;
  const computed = { counted: 0, plain: 0 };
  let adding = 0;
  let folding = 0;
  const random = randomFrom(2);
  for (let round = 0; round < 6; round += 1) {
    for (const kind of ["plain", "counted"] as const) {
      const database = openDatabase(join(folder, `append-${kind}-${round}.db`), 1_000);
      const transaction = new Transaction(database);
      const rollUps = new RollUpTable(database, transaction, () => null);
      const timed = {
        add: (written: Parameters<RollUpTable["add"]>[0]) => {
          const began = performance.now();
          rollUps.add(written);
          adding += performance.now() - began;
        },
      };
      const table = new EvidenceTable(
        database,
        transaction,
        new ProcessLease(database),
        new LogWriter(database, kind === "plain" ? { add: () => {} } : timed),
      );
      let taken = 0;
      for (let batch = 0; batch < BATCHES; batch += 1) {
        const decisions: (string | number | null)[] = [];
        const outcomes: (string | number)[] = [];
        for (let index = 0; index < SIZE; index += 1) {
          const workspace = WORKSPACES[index % WORKSPACES.length];
          if (workspace === undefined) throw new Error("bench: no workspace");
          const { decision, outcome } = request((id += 1), FROM * HOUR, workspace, random);
          decisions.push(decision.at, decision.requestId, workspace, JSON.stringify(decision));
          outcomes.push(Math.trunc(outcome.at), outcome.requestId, JSON.stringify(outcome));
        }
        const began = performance.now();
        const cpu = process.cpuUsage();
        table.append(decisions, outcomes, FROM * HOUR);
        // As many batches at once as a server takes when it is busy.
        if (kind === "counted" && batch % 100 === 99) {
          const folded = performance.now();
          rollUps.fold();
          folding += performance.now() - folded;
        }
        taken += performance.now() - began;
        const { user, system } = process.cpuUsage(cpu);
        computed[kind] += user + system;
      }
      rounds[kind].push((taken * 1_000) / (BATCHES * SIZE));
      database.close();
    }
  }
  const [plain, counted] = [median(rounds.plain), median(rounds.counted)];
  console.log(
    `writing evidence, the worker's time per request: ${plain.toFixed(0)} µs, ${counted.toFixed(0)} µs with counting, ratio ${(counted / plain).toFixed(2)}`,
  );
  const requests = 6 * BATCHES * SIZE;
  console.log(
    `CPU of that: ${(computed.plain / requests).toFixed(0)} µs, ${(computed.counted / requests).toFixed(0)} µs, ratio ${(computed.counted / computed.plain).toFixed(2)}`,
  );
  const mean = (milliseconds: number): string => ((milliseconds * 1_000) / requests).toFixed(0);
  console.log(`of that: counting ${mean(adding)} µs, folding ${mean(folding)} µs (means)`);
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
