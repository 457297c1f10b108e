import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { JsonObject } from "../../canon/json.ts";
import { GENESIS, type ChainLink, type ChainRow } from "../../evidence/chain.ts";
import type { EvidenceAnchor, EvidenceLog, NotedHead } from "../../evidence/evidence-store.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";

/** The result of verifying one log. */
export type Verified =
  | { readonly ok: true; readonly lines: readonly string[]; readonly json: JsonObject }
  | { readonly ok: false; readonly sentence: string; readonly json: JsonObject };

/** A log without a fault, and how far its end is proven. @param prefix of the line about the end. */
export function provenLog(
  lines: readonly string[],
  json: JsonObject,
  end: LogEnd,
  prefix: string = "",
): Verified {
  return {
    ok: true,
    lines: [...lines, `${prefix}${describeEnd(end)}`],
    json: { verified: true, ...json, head: formatLink(end.head), end: endJson(end) },
  };
}

export function notVerified(sentence: string, details: JsonObject): Verified {
  return { ok: false, sentence, json: { verified: false, ...details, message: sentence } };
}

/** Prints the results, as lines or as one JSON object by name. @returns the exit code. */
export function printVerified(
  results: Readonly<Record<string, Verified>>,
  json: boolean,
  io: CommandIo,
): number {
  const all = Object.values(results);
  if (json) {
    const members = Object.entries(results).map(([name, result]) => [name, result.json]);
    io.stdout(`${JSON.stringify({ format: 2, ...Object.fromEntries(members) })}\n`);
  }
  for (const result of json ? [] : all) {
    if (result.ok) io.stdout(`${result.lines.join("\n")}\n`);
    else io.stderr(`signalbox evidence: ${result.sentence}\n`);
  }
  return all.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed;
}

/** Evidence that no rows are missing at the end of a log. */
interface LogEnd {
  /** The newest row that verified. */
  readonly head: ChainLink;
  /** Verified positions that were noted outside of the database's host. */
  readonly noted: readonly ChainLink[];
  /** The flag for such positions. */
  readonly flag: string;
  /** The head that the server wrote beside the database. */
  readonly server: NotedHead | null;
}

function describeEnd({ head, noted, flag, server }: LogEnd): string {
  const position = provenTo(noted);
  const after = head.position - position;
  if (position > 0 && after <= 0)
    return `end: nothing is missing up to ${position}, as a head noted elsewhere proves`;
  const beyond =
    position > 0
      ? `proven up to ${position} by a head noted elsewhere; the ${after} rows after it are not`
      : "not proven";
  const known =
    server === null
      ? ""
      : ` (it reaches what the server noted in ${server.file}, which an owner of the database can change)`;
  return `end: ${beyond}${known}; missing rows at the end show only with a head noted elsewhere (${flag})`;
}

function endJson({ head, noted, server }: LogEnd): JsonObject {
  const position = provenTo(noted);
  return {
    proven: position > 0 && position >= head.position,
    proven_to: position === 0 ? null : position,
    noted_by_server: server === null ? null : formatLink(server),
  };
}

function provenTo(noted: readonly ChainLink[]): number {
  return Math.max(0, ...noted.map(({ position }) => position));
}

const LINK = /^([0-9]{1,15}):([0-9a-f]{64})$/;
const LINK_HINT = 'give POSITION:HASH, such as "signalbox evidence anchor" prints';

/** `POSITION:HASH` */
export function formatLink({ position, hash }: ChainLink): string {
  return `${position}:${hash}`;
}

/** Parses `POSITION:HASH`. @throws {UsageError} */
export function readLink(text: string, flag: string): ChainLink {
  const [, digits = "", hash = ""] = LINK.exec(text) ?? [];
  if (digits === "") throw new UsageError(`${flag}: ${LINK_HINT}`);
  return { position: Number(digits), hash };
}

/**
 * Parses `POSITION:HASH`, or reads a file with one on each line.
 *
 * @throws {UsageError} for a file that cannot be read or has another line
 */
export function readAnchors(text: string, cwd: string): readonly ChainLink[] {
  if (LINK.test(text)) return [readLink(text, "--anchor")];
  let lines: readonly string[];
  try {
    lines = readFileSync(resolve(cwd, text), "utf8")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  } catch {
    throw new UsageError(
      `--anchor: ${LINK_HINT}, or a file of such lines; there is no such file that can be read`,
    );
  }
  if (lines.length === 0) throw new UsageError(`--anchor: the file is empty; ${LINK_HINT}`);
  return lines.map((line) => readLink(line, "--anchor"));
}

/** Parses a position. @throws {UsageError} */
export function readPosition(text: string, flag: string): number {
  if (!/^[0-9]{1,15}$/.test(text))
    throw new UsageError(`${flag}: give a position, a whole number from 0`);
  return Number(text);
}

/** Verifies all rows. @returns the first fault. */
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

const PAGE = 2_000;

export function walkLog(log: EvidenceLog, after: number): AsyncGenerator<ChainRow, void> {
  return walk((position) => log.log({ after: position, limit: PAGE }), after);
}

/** Reads rows page by page. @param read returns a page of rows after a position. */
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

/** Rows of an export. @param lines after the header. @throws {CommandError} for an invalid line. */
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

/** @throws {CommandError} for a noted position outside of an export. */
export function refuseUncovered(noted: readonly ChainLink[], from: number, to: number): void {
  const position = noted.map((link) => link.position).find((one) => one < from || one > to);
  if (position === undefined) return;
  throw new CommandError(
    `position ${position} cannot be checked: the export covers ${from} to ${to}`,
  );
}

interface LogStart {
  /** The first row, or the anchor at the end of the pruned rows. */
  readonly from: ChainLink;
  readonly anchors: readonly EvidenceAnchor[];
}

/** Where the log begins now: after the newest anchor before its first row. */
export async function startOf(log: EvidenceLog): Promise<LogStart> {
  const [first] = await log.log({ after: 0, limit: 1 });
  const anchors = await log.anchors();
  const before = first === undefined ? Number.POSITIVE_INFINITY : first.position;
  return { from: anchors.findLast(({ position }) => position < before) ?? GENESIS, anchors };
}
