import { randomUUID } from "node:crypto";
import type { PostgresLink } from "./link.ts";
import { readBytes, readNumber } from "../rows/row.ts";
import { batchesAfter, findDecided } from "./evidence/batch-rows.ts";
import { Increments } from "../../governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome, type DecisionFacts } from "../../governance/roll-up.ts";
import { DecisionReader } from "../batch/decision-reader.ts";
import { FrameCursor } from "../batch/frames.ts";
import type { StoredBatch } from "../batch/stored-batch.ts";
import { readDecision, readOutcome } from "../stored-evidence.ts";

/** Bytes of records after which a page is full: then more may follow. */
const FULL = 256 * 1024;

/** How often what was written is counted, milliseconds. */
const INTERVAL = 1_000;

/** For how long a replica says that it does so; then another may. Milliseconds. */
const TERM = 6_000;

/** Rounds left out after a failure, so that another replica gets its turn. */
const ROUNDS_OUT = 5;

const CURSOR = "SELECT position FROM signalbox.roll_up_cursor";

/** By a query of its own each: joined, they could be found by reading all cells. */
const CELLS = `
SELECT wanted.place, (
    SELECT stored.cell FROM signalbox.roll_ups AS stored WHERE stored.workspace = wanted.workspace
      AND stored.facet = wanted.facet AND stored.hour = wanted.hour AND stored.labels = wanted.labels) AS cell
FROM ROWS FROM (json_to_recordset($1::text::json) AS (w text, f text, h bigint, l text))
  WITH ORDINALITY AS wanted (workspace, facet, hour, labels, place)`;

const FOLD = "SELECT signalbox.fold_roll_ups($1, $2, $3::text::json) AS folded";

const CLAIM = `
UPDATE signalbox.roll_up_cursor SET folder = $1, until = signalbox.now_ms() + ${TERM}
WHERE folder = $1 OR until < signalbox.now_ms() RETURNING position`;

/**
 * Counts the rows of the log into cells, each once. Any number of replicas may try at once: who finds that the cursor has
 * moved meanwhile has counted for nothing and begins again behind it.
 */
export class RollUpFolder {
  readonly #link: PostgresLink;
  readonly #works: () => boolean;
  readonly #id = randomUUID();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #counter = new BatchCounter();
  #step: Promise<Step | null> | null = null;
  #round: Promise<void> | null = null;
  #roundsOut = 0;
  #closed = false;

  /** @param works whether this process takes part in the background: commands that only read leave no trace */
  constructor(link: PostgresLink, works: () => boolean) {
    this.#link = link;
    this.#works = works;
    this.#timer = setInterval(() => {
      this.#round ??= this.#background().finally(() => (this.#round = null));
    }, INTERVAL);
  }

  /** Resolves when every row up to `position` is counted. @throws {StoreUnavailableError} */
  async foldTo(position: number): Promise<void> {
    let folded: number | null = readNumber((await this.#link.query(CURSOR))[0] ?? {}, "position");
    while (folded !== null && folded < position) folded = (await this.#stepOnce())?.folded ?? null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#round;
  }

  async #background(): Promise<void> {
    if (!this.#works() || !this.#link.available) return;
    if (this.#roundsOut > 0) {
      this.#roundsOut -= 1;
      return;
    }
    try {
      while ((await this.#link.query(CLAIM, [this.#id]))[0] !== undefined && !this.#closed) {
        if ((await this.#stepOnce())?.full !== true) return;
      }
    } catch {
      this.#roundsOut = ROUNDS_OUT;
    }
  }

  /** One page at a time in this process; `null` where nothing is left. */
  #stepOnce(): Promise<Step | null> {
    this.#step ??= this.#fold().finally(() => (this.#step = null));
    return this.#step;
  }

  async #fold(): Promise<Step | null> {
    const from = readNumber((await this.#link.query(CURSOR))[0] ?? {}, "position");
    const batches = await batchesAfter(this.#link, from);
    const to = batches.at(-1)?.last;
    if (to === undefined) return null;
    const find: FindDecided = (requestId) => findDecided(this.#link, requestId);
    const entries = (await this.#counter.count(batches, find)).entries();
    const positions = entries.map(({ workspace, facet, hour, labels }) => ({
      w: workspace ?? "",
      f: facet,
      h: hour,
      l: labels,
    }));
    for (const row of await this.#link.query(CELLS, [JSON.stringify(positions)])) {
      if (row["cell"] !== null) entries[readNumber(row, "place") - 1]?.cell.addEncoded(readBytes(row, "cell"));
    }
    const cells = entries.map(({ cell }, index) => ({
      ...positions[index],
      c: Buffer.from(cell.encode()).toString("base64"),
    }));
    const done = (await this.#link.query(FOLD, [from, to, JSON.stringify(cells)]))[0]?.["folded"];
    const bytes = batches.reduce((sum, { records }) => sum + records.length, 0);
    return { folded: done === true ? to : from, full: bytes >= FULL };
  }
}

interface Step {
  /** The position up to which rows are counted. */
  readonly folded: number;
  /** More may be left to count. */
  readonly full: boolean;
}

/** Decisions whose outcomes have not been counted that are remembered at most; others are read again. */
const REMEMBERED = 50_000;

/** Gives the batch with a request's decision; `null` where there is none. */
type FindDecided = (requestId: string) => Promise<StoredBatch | null>;

/** Counts batches of the log. */
class BatchCounter {
  readonly #decisions = new DecisionReader();
  readonly #running = new Map<string, DecisionFacts>();

  /**
   * What these batches, in the order of the log, add to the cells. A record that this version does not know is not
   * counted: the others must not wait for it.
   */
  async count(batches: readonly StoredBatch[], find: FindDecided): Promise<Increments> {
    const increments = new Increments();
    const earlier: [string, string][] = [];
    for (const { records } of batches) {
      const cursor = new FrameCursor(records);
      while (cursor.next()) {
        const { requestId } = cursor;
        if (cursor.kind === "decision") {
          const counted = this.#decisions.read(cursor.bytes, cursor.recordStart, cursor.end, requestId, false);
          if (counted === null) continue;
          rollUpDecision(increments, counted.decision, counted.facts);
          this.#remember(requestId, counted.facts);
        } else {
          const facts = this.#running.get(requestId);
          this.#running.delete(requestId);
          if (facts === undefined) earlier.push([requestId, cursor.record]);
          else addOutcome(increments, facts, cursor.record);
        }
      }
    }
    await this.#countEarlier(new Map(earlier), increments, find);
    return increments;
  }

  /** Outcomes of decisions that another process has counted. */
  async #countEarlier(outcomes: Map<string, string>, increments: Increments, find: FindDecided): Promise<void> {
    for (const wanted of outcomes.keys()) {
      const batch = await find(wanted);
      const cursor = batch === null ? null : new FrameCursor(batch.records);
      // The others mostly were decided in the same batch.
      while (cursor?.next() === true) {
        const outcome = cursor.kind === "decision" ? outcomes.get(cursor.requestId) : undefined;
        if (outcome === undefined) continue;
        outcomes.delete(cursor.requestId);
        const decision = readDecision(cursor.record);
        if (decision !== null) addOutcome(increments, decisionFacts(decision), outcome);
      }
    }
  }

  #remember(requestId: string, facts: DecisionFacts): void {
    this.#running.set(requestId, facts);
    if (this.#running.size <= REMEMBERED) return;
    for (const oldest of this.#running.keys()) {
      this.#running.delete(oldest);
      return;
    }
  }
}

function addOutcome(increments: Increments, facts: DecisionFacts, text: string): void {
  const outcome = readOutcome(text);
  if (outcome !== null) rollUpOutcome(increments, facts, outcome);
}
