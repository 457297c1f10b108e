import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { HOUR } from "../../src/governance/roll-up.ts";
import type { NewRecord } from "../../src/store/batch/batch-lines.ts";
import { decisionOf, outcomeOf } from "../../src/store/stored-evidence.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { storeEngine } from "../../src/store/sqlite/store-engine.ts";
import { fixtureCells, FROM } from "./cells.ts";
import { randomFrom, request, WORKSPACES } from "./fixture.ts";
import { queryAll } from "./questions.ts";

/**
 * How long summaries of 30 days of ten million requests take, and what counting adds to writing
 * evidence. The aims: 200 ms for each question, and for the second a ratio to watch.
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
    const worst = await queryAll(store, filled);
    console.log(`slowest: ${worst.toFixed(0)} ms (aim: ${AIM} ms)`);
    if (worst > AIM) process.exitCode = 1;
  } finally {
    await store.close();
  }
}

function fill(path: string): { readonly cells: number; readonly bytes: number } {
  const database = new DatabaseSync(path);
  const put = database.prepare(
    "INSERT INTO roll_ups (workspace, facet, hour, labels, cell) VALUES (?, ?, ?, ?, ?)",
  );
  let cells = 0;
  let bytes = 0;
  database.exec("BEGIN");
  for (const row of fixtureCells()) {
    put.run(...row);
    cells += 1;
    bytes += row[4].length;
  }
  database.exec("COMMIT");
  database.close();
  return { cells, bytes };
}

/** The worker's time to write batches, to count them, and to add the counts to the cells. */
function appends(): void {
  const BATCHES = 300;
  const SIZE = 25;
  const ROUNDS = 6;
  const spent = { writing: [] as number[], counting: [] as number[], folding: [] as number[] };
  let id = 0;
  const random = randomFrom(2);
  for (let round = 0; round < ROUNDS; round += 1) {
    const database = openDatabase(join(folder, `append-${round}.db`), 1_000);
    const engine = storeEngine(database, () => {});
    const taken = { writing: 0, counting: 0, folding: 0 };
    const measure = (kind: keyof typeof taken, action: () => void): void => {
      const began = performance.now();
      action();
      taken[kind] += (performance.now() - began) * 1_000;
    };
    for (let number = 0; number < BATCHES; number += 1) {
      const decisions: NewRecord[] = [];
      const outcomes: NewRecord[] = [];
      for (let index = 0; index < SIZE; index += 1) {
        const workspace = WORKSPACES[index % WORKSPACES.length];
        if (workspace === undefined) throw new Error("bench: no workspace");
        const { decision, outcome } = request((id += 1), FROM * HOUR, workspace, random);
        decisions.push(decisionOf(decision));
        outcomes.push(outcomeOf(outcome));
      }
      measure("writing", () =>
        engine.answer(
          { operation: "evidence.append", parameters: [[...decisions, ...outcomes]] },
          FROM * HOUR,
        ),
      );
      measure("counting", () => engine.settle());
      // As many batches at once as a server takes in a second when it is busy.
      if (number % 100 === 99) {
        measure("folding", () =>
          engine.answer({ operation: "summary.write", parameters: [] }, FROM * HOUR),
        );
      }
    }
    for (const kind of ["writing", "counting", "folding"] as const)
      spent[kind].push(taken[kind] / (BATCHES * SIZE));
    database.close();
  }
  const [writing, counting, folding] = [spent.writing, spent.counting, spent.folding].map((all) =>
    median(all).toFixed(0),
  );
  console.log(
    `writing evidence, the worker's time per request: ${writing} µs; counting ${counting} µs, adding to the cells ${folding} µs`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
