import { randomUUID } from "node:crypto";
import { Increments, KEPT_MINUTES } from "../../governance/increments.ts";
import { BatchCounter } from "../batch/batch-counter.ts";
import { readLines } from "../batch/batch-lines.ts";
import { readBytes, readNumber } from "../rows.ts";
import { batchesAfter, findDecided } from "./evidence/log.ts";
import type { EvidenceSealer } from "./evidence/sealer.ts";
import type { PostgresLink } from "./link.ts";

/** How often what was written goes into the log and is counted, milliseconds. */
const INTERVAL = 1_000;

/** Lease of the replica that folds counts, milliseconds; then another may take over. */
const TERM = 3_000;

/** Rounds skipped after a failure, so that another replica takes over. */
const ROUNDS_OUT = 4;

const CURSOR = "SELECT position FROM signalbox.roll_up_cursor";

/** One subquery each: a join could read all cells. */
const CELLS = `
SELECT wanted.place, (
    SELECT stored.cell FROM signalbox.roll_ups AS stored WHERE stored.workspace = wanted.workspace
      AND stored.facet = wanted.facet AND stored.hour = wanted.hour AND stored.labels = wanted.labels) AS cell
FROM ROWS FROM (json_to_recordset($1::text::json) AS (w text, f text, h bigint, l text))
  WITH ORDINALITY AS wanted (workspace, facet, hour, labels, place)`;

const FOLD = "SELECT signalbox.fold_roll_ups($1, $2, $3::text::json) AS folded";

const PRUNE = `
DELETE FROM signalbox.roll_ups
WHERE workspace IN (SELECT json_array_elements_text($1::text::json)) AND facet = 'minute' AND hour < $2`;

const CLAIM = `
UPDATE signalbox.roll_up_cursor SET folder = $1, until = signalbox.now_ms() + ${TERM}
WHERE folder = $1 OR until < signalbox.now_ms() RETURNING position`;

/** Counts each row of the log once. A replica that finds the cursor moved starts behind it. */
export class RollUpFolder {
  readonly #link: PostgresLink;
  readonly #sealer: EvidenceSealer;
  readonly #works: () => boolean;
  readonly #id = randomUUID();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #counter = new BatchCounter();
  #step: Promise<number | null> | null = null;
  #round: Promise<void> | null = null;
  #roundsOut = 0;
  /** Up to which minutes were pruned. */
  #newestMinute = 0;

  /** @param works whether this process counts in the background; one that only reads does not */
  constructor(link: PostgresLink, sealer: EvidenceSealer, works: () => boolean) {
    this.#link = link;
    this.#sealer = sealer;
    this.#works = works;
    this.#timer = setInterval(() => {
      this.#round ??= this.#background().finally(() => (this.#round = null));
    }, INTERVAL);
  }

  /** Resolves when every row up to `position` is counted. @throws {StoreUnavailableError} */
  async foldTo(position: number): Promise<void> {
    let folded: number | null = readNumber((await this.#link.query(CURSOR))[0], "position");
    while (folded !== null && folded < position) folded = await this.#stepOnce();
  }

  /** Resolves when everything written before is counted. @throws {StoreUnavailableError} */
  async foldAll(): Promise<void> {
    await this.foldTo((await this.#sealer.seal()).position);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  async #background() {
    if (!this.#works() || !this.#link.available) return;
    if (this.#roundsOut > 0) {
      this.#roundsOut -= 1;
      return;
    }
    try {
      if ((await this.#link.query(CLAIM, [this.#id]))[0] !== undefined) await this.foldAll();
    } catch {
      this.#roundsOut = ROUNDS_OUT;
    }
  }

  /** One page at a time. @returns up to which position rows are counted; `null`: nothing left */
  #stepOnce(): Promise<number | null> {
    this.#step ??= this.#fold().finally(() => (this.#step = null));
    return this.#step;
  }

  async #fold(): Promise<number | null> {
    const from = readNumber((await this.#link.query(CURSOR))[0], "position");
    const batches = await batchesAfter(this.#link, from);
    const to = batches.at(-1)?.last;
    if (to === undefined) return null;
    const increments = new Increments();
    const earlier = this.#counter.count(
      batches.flatMap((batch) => [...readLines(batch)]),
      increments,
    );
    for (const requestId of earlier.keys()) {
      const decided = await findDecided(this.#link, requestId);
      if (decided !== null) this.#counter.countEarlier(decided, earlier, increments);
    }
    const entries = increments.entries();
    const positions = entries.map(({ workspace, facet, hour, labels }) => ({
      w: workspace ?? "",
      f: facet,
      h: hour,
      l: labels,
    }));
    for (const row of await this.#link.query(CELLS, [JSON.stringify(positions)])) {
      if (row.cell !== null)
        entries[readNumber(row, "place") - 1]?.cell.addEncoded(readBytes(row, "cell"));
    }
    const cells = entries.map(({ cell }, index) => ({
      ...positions[index],
      c: Buffer.from(cell.encode()).toString("base64"),
    }));
    const done = (await this.#link.query(FOLD, [from, to, JSON.stringify(cells)]))[0]?.folded;
    const newest = increments.newestMinute();
    if (newest > this.#newestMinute) {
      this.#newestMinute = newest;
      const written = new Set(positions.map(({ w }) => w));
      // A separate statement: a server without this privilege must still count.
      await this.#link
        .query(PRUNE, [JSON.stringify([...written]), newest - KEPT_MINUTES])
        .catch(() => []);
    }
    return done === true ? to : from;
  }
}
