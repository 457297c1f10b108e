import { randomUUID } from "node:crypto";

import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readBytes, readNumber, readText, readTextOrNull } from "../../rows/row.ts";
import { countRows } from "./count-rows.ts";

/** Rows counted at a time: some milliseconds of this thread. */
const PAGE = 400;

/** How often what was written is counted, milliseconds. */
const INTERVAL = 2_000;

/** For how long a replica says that it does so; then another may. Milliseconds. */
const TERM = 6_000;

/** Rounds left out after a failure, so that another replica gets its turn. */
const ROUNDS_OUT = 5;

const CURSOR = "SELECT position FROM signalbox.roll_up_cursor";

/** The rows after the cursor, and of outcomes among them the decisions that stand before it. */
const ROWS = `
SELECT cursor.position AS folded, entry.position, entry.kind, entry.record,
  CASE entry.kind WHEN 'outcome' THEN (
    SELECT decision.record FROM signalbox.evidence_log AS decision
    WHERE decision.request_id = entry.request_id AND decision.kind = 'decision' AND decision.position <= cursor.position
  ) END AS decision
FROM signalbox.roll_up_cursor AS cursor CROSS JOIN LATERAL (
  SELECT following.position, following.kind, following.record, following.request_id
  FROM signalbox.evidence_log AS following WHERE following.position > cursor.position
  ORDER BY following.position LIMIT ${PAGE}) AS entry`;

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
  #step: Promise<number | null> | null = null;
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
    while (folded !== null && folded < position) folded = await this.#stepOnce();
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
      let row = (await this.#link.query(CLAIM, [this.#id]))[0];
      while (row !== undefined && !this.#closed) {
        const before = readNumber(row, "position");
        const folded = await this.#stepOnce();
        if (folded === null || folded < before + PAGE) return;
        row = (await this.#link.query(CLAIM, [this.#id]))[0];
      }
    } catch {
      this.#roundsOut = ROUNDS_OUT;
    }
  }

  /** One page at a time in this process; gives the position up to which rows are counted, `null` where no row is left. */
  #stepOnce(): Promise<number | null> {
    this.#step ??= this.#fold().finally(() => (this.#step = null));
    return this.#step;
  }

  async #fold(): Promise<number | null> {
    const rows = (await this.#link.query(ROWS)).toSorted(byPosition);
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) return null;
    const [from, to] = [readNumber(first, "folded"), readNumber(last, "position")];
    const entries = countRows(rows.map(readCounted)).entries();
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
    return done === true ? to : from;
  }
}

const byPosition = (left: Row, right: Row): number => readNumber(left, "position") - readNumber(right, "position");

function readCounted(row: Row): Parameters<typeof countRows>[0][number] {
  return {
    kind: readText(row, "kind") === "decision" ? "decision" : "outcome",
    record: readText(row, "record"),
    decision: readTextOrNull(row, "decision"),
  };
}
