import {
  ChainVerifier,
  type ChainCause,
  type ChainFault,
  type ChainLink,
  GENESIS,
  type ChainRow,
} from "../../evidence/chain.ts";
import type { EvidenceAnchor, EvidenceLog, MissingBatches } from "../../evidence/evidence-store.ts";
import { listText } from "../terminal/amounts.ts";
import { CommandError } from "../terminal/command-io.ts";
import {
  formatLink,
  describeEnd,
  endJson,
  notVerified,
  type LogEnd,
  type Verified,
} from "./verified.ts";

const CAUSES: Readonly<Record<ChainCause, string>> = {
  gap: "a row is missing here, or is at another position",
  hash: "the row, or the one before it, was changed after it was written",
  column:
    "the index columns of the row differ from its record, or a finished request is listed as running",
  unreadable: "the row has no record with a request id",
  duplicate: "the request has such a row already",
  outcome_before_decision: "an outcome without a decision before it",
  anchor: "the hash at this position differs from the checkpoint",
  end: "the log ends before the position of a checkpoint",
};

/** One line for people. */
export function describeFault({ position, cause }: ChainFault): string {
  return `does not verify at position ${position}: ${CAUSES[cause]} (${cause})`;
}

function describeMissing(missing: readonly MissingBatches[]): readonly string[] {
  if (missing.length === 0) return [];
  const names = missing.map(
    ({ process, first, last }) => `${first} to ${last} of process ${process}`,
  );
  return [
    `lacks batches of records that were written: ${listText(names)} (missing); look for them in the former primary, or in a later backup`,
  ];
}

/**
 * A prune while the log is read takes rows away in front of the reader; it then begins again behind
 * them.
 */
const RESTARTS = 5;

/** The message for a log that ends too early. */
export function describeCutEnd(head: ChainLink, remembered: readonly ChainLink[]): string {
  const furthest = remembered.reduce(
    (far, link) => (link.position > far.position ? link : far),
    head,
  );
  return (
    `does not verify at position ${head.position + 1}: it ends at ${formatLink(head)}, before ${formatLink(furthest)}, ` +
    `which was noted; records are missing at its end (end)`
  );
}

/**
 * Verifies the whole log.
 *
 * @param noted positions in the chain that were noted elsewhere
 * @throws {CommandError} when a noted position was pruned and is not among the anchors, so that it
 * cannot be checked
 */
export async function verifyLog(log: EvidenceLog, noted: readonly ChainLink[]): Promise<Verified> {
  // Read before the rows: a server may go on writing and noting.
  const server = await log.notedHead();
  for (let attempt = 1; ; attempt += 1) {
    const { from, anchors } = await startOf(log);
    const remembered = [...anchors, ...noted, ...(server === null ? [] : [server])];
    const verifier = new ChainVerifier({ from, remembered });
    const fault =
      checkNoted(from, anchors, noted) ??
      (await verifyRows(verifier, walkLog(log, from.position))) ??
      (await verifyOpen(verifier, log));
    const missing = await log.missing();
    if (fault === null && missing.length === 0)
      return summary(from, verifier, anchors, { noted, server });
    const wasPruned = fault?.cause === "gap" && (await startOf(log)).from.position > from.position;
    if (!wasPruned || attempt === RESTARTS) {
      const details = fault === null ? {} : { position: fault.position, cause: fault.cause };
      const ends = fault?.cause === "end" ? describeCutEnd(verifier.head, remembered) : null;
      const what = fault === null ? [] : [ends ?? describeFault(fault)];
      return notVerified(`the log ${[...what, ...describeMissing(missing)].join("; it ")}`, {
        ...details,
        ...(missing.length > 0 && { missing: missing.map((one) => ({ ...one })) }),
      });
    }
  }
}

/**
 * Whether the store has the decisions without an outcome as running, and no others, while requests
 * come and end.
 */
async function verifyOpen(verifier: ChainVerifier, log: EvidenceLog): Promise<ChainFault | null> {
  const seen = verifier.head.position;
  const before = verifier.runningPositions();
  const listed = new Set(await log.openRequests());
  const wrong = (position: number): ChainFault => ({ position, cause: "column" });
  for (const requestId of listed) {
    const end = verifier.endOf(requestId);
    if (end !== null) return wrong(end);
  }
  // Those that ended while the list was read have their outcomes in what follows.
  const fault = await verifyRows(verifier, walkLog(log, seen));
  if (fault !== null) return fault;
  const running = verifier.runningPositions();
  for (const [requestId, position] of before) {
    if (running.has(requestId) && !listed.has(requestId)) return wrong(position);
  }
  for (const requestId of listed) {
    if (!running.has(requestId) && verifier.endOf(requestId) === null)
      return wrong(verifier.head.position);
  }
  return null;
}

/** Feeds the rows and returns the first fault. */
export async function verifyRows<Row, Fault>(
  verifier: {
    readonly begin: () => Fault | null;
    readonly add: (row: Row) => Fault | null;
    readonly end: () => Fault | null;
  },
  rows: AsyncIterable<Row>,
): Promise<Fault | null> {
  const begun = verifier.begin();
  if (begun !== null) return begun;
  for await (const row of rows) {
    const fault = verifier.add(row);
    if (fault !== null) return fault;
  }
  return verifier.end();
}

/** What was noted of rows that are gone can only be compared with the anchors. */
function checkNoted(
  from: ChainLink,
  anchors: readonly EvidenceAnchor[],
  noted: readonly ChainLink[],
): ChainFault | null {
  for (const { position, hash } of noted) {
    if (position === 0 || position >= from.position) continue;
    const anchor = anchors.find((known) => known.position === position);
    if (anchor === undefined) {
      throw new CommandError(
        `position ${position} cannot be checked: rows up to ${from.position} were pruned, and no anchor has this position`,
      );
    }
    if (anchor.hash !== hash) return { position, cause: "anchor" };
  }
  return null;
}

function summary(
  from: ChainLink,
  verifier: ChainVerifier,
  anchors: readonly EvidenceAnchor[],
  known: Pick<LogEnd, "noted" | "server">,
): Verified {
  const end: LogEnd = { head: verifier.head, flag: "--anchor", ...known };
  const begins =
    from.position === 0 ? "from the first row on" : `after the anchor ${from.position}`;
  const lines = [
    `verified ${verifier.rows} rows ${begins}`,
    `without an outcome yet: ${verifier.running}`,
    ...anchors.map(
      (anchor) => `anchor ${formatLink(anchor)} of ${new Date(anchor.at).toISOString()}`,
    ),
    `head ${formatLink(verifier.head)}`,
    describeEnd(end),
  ];
  const json = {
    verified: true,
    rows: verifier.rows,
    begins_after: from.position,
    running: verifier.running,
    anchors: anchors.map((anchor) => formatLink(anchor)),
    head: formatLink(verifier.head),
    end: endJson(end),
  };
  return { ok: true, lines, json };
}

const PAGE = 2_000;

/** The log's rows after `after`, page by page. */
export function walkLog(log: EvidenceLog, after: number): AsyncGenerator<ChainRow, void> {
  return walk((position) => log.log({ after: position, limit: PAGE }), after);
}

/** Rows that are read page by page. @param read a page of those after a position */
export async function* walk<Row extends { readonly position: number }>(
  read: (after: number) => Promise<readonly Row[]>,
  after: number,
): AsyncGenerator<Row, void> {
  for (let position = after; ;) {
    const rows = await read(position);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    ({ position } = last);
  }
}

/**
 * Rows of an export. @param lines those after the header. @throws {CommandError} for a line that is
 * no row
 */
export async function* rowsOf<Row>(
  lines: AsyncIterable<string>,
  read: (line: string) => Row | null,
  file: string,
): AsyncGenerator<Row, void> {
  let number = 1;
  for await (const line of lines) {
    number += 1;
    const row = read(line);
    if (row === null) throw new CommandError(`--file: line ${number} is not a row of ${file}`);
    yield row;
  }
}

/** @throws {CommandError} for a noted position that an export does not reach */
export function refuseUncovered(noted: readonly ChainLink[], from: number, to: number): void {
  const position = noted.map((link) => link.position).find((one) => one < from || one > to);
  if (position === undefined) return;
  throw new CommandError(
    `position ${position} cannot be checked: the export covers ${from} to ${to}`,
  );
}

interface LogStart {
  /** Where the log begins: its very beginning, or an anchor that what was pruned ended at. */
  readonly from: ChainLink;
  readonly anchors: readonly EvidenceAnchor[];
}

/**
 * Where the log begins now. Where its first rows are gone without an anchor, the newest anchor
 * before them.
 */
export async function startOf(log: EvidenceLog): Promise<LogStart> {
  const [first] = await log.log({ after: 0, limit: 1 });
  const anchors = await log.anchors();
  const before = first === undefined ? Number.POSITIVE_INFINITY : first.position;
  return { from: anchors.findLast(({ position }) => position < before) ?? GENESIS, anchors };
}
