import type { ChainLink } from "../../evidence/chain.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { NotedHead } from "../../evidence/evidence-store.ts";
import { EXIT, type CommandIo, UsageError } from "../terminal/command-io.ts";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** What verifying one log came to. */
export type Verified =
  | { readonly ok: true; readonly lines: readonly string[]; readonly json: JsonObject }
  | { readonly ok: false; readonly sentence: string; readonly json: JsonObject };

export function notVerified(sentence: string, details: JsonObject): Verified {
  return { ok: false, sentence, json: { verified: false, ...details, message: sentence } };
}

/**
 * Prints the results by name, as lines for people or as one JSON object, and gives the exit code.
 */
export function printVerified(
  results: Readonly<Record<string, Verified>>,
  json: boolean,
  io: CommandIo,
): number {
  const all = Object.values(results);
  if (json) {
    const members = Object.entries(results).map(([name, result]) => [name, result.json]);
    io.stdout(`${JSON.stringify(Object.fromEntries(members))}\n`);
  }
  for (const result of json ? [] : all) {
    if (result.ok) io.stdout(`${result.lines.join("\n")}\n`);
    else io.stderr(`signalbox evidence: ${result.sentence}\n`);
  }
  return all.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed;
}

/** The proof that a log was not cut off at its end. */
export interface LogEnd {
  /** The newest row that verified. */
  readonly head: ChainLink;
  /** Rows that were noted outside of the database's host, all of which verified. */
  readonly noted: readonly ChainLink[];
  /** The flag that takes them. */
  readonly flag: string;
  /** What the server noted beside the rows. */
  readonly server: NotedHead | null;
}

/** One sentence for people. */
export function describeEnd({ head, noted, flag, server }: LogEnd): string {
  const position = witnessedTo(noted);
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

/** The same for programs. */
export function endJson({ head, noted, server }: LogEnd): JsonObject {
  const position = witnessedTo(noted);
  return {
    witnessed: position > 0 && position >= head.position,
    witnessed_to: position === 0 ? null : position,
    noted_by_server: server === null ? null : formatLink(server),
  };
}

function witnessedTo(noted: readonly ChainLink[]): number {
  return Math.max(0, ...noted.map(({ position }) => position));
}

const LINK = /^([0-9]{1,15}):([0-9a-f]{64})$/;
const SUCH = 'give POSITION:HASH, such as "signalbox evidence anchor" prints';

/** A position in the chain as people note it: `POSITION:HASH`. */
export function formatLink({ position, hash }: ChainLink): string {
  return `${position}:${hash}`;
}

/** Reads what {@link formatLink} wrote. @throws {UsageError} naming the flag. */
export function readLink(text: string, flag: string): ChainLink {
  const [, digits = "", hash = ""] = LINK.exec(text) ?? [];
  if (digits === "") throw new UsageError(`${flag}: ${SUCH}`);
  return { position: Number(digits), hash };
}

/**
 * Reads `POSITION:HASH`, or a file in which every line that is not empty is one.
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
      `--anchor: ${SUCH}, or a file of such lines; there is no such file that can be read`,
    );
  }
  if (lines.length === 0) throw new UsageError(`--anchor: the file is empty; ${SUCH}`);
  return lines.map((line) => readLink(line, "--anchor"));
}

/** Reads a position. @throws {UsageError} naming the flag. */
export function readPosition(text: string, flag: string): number {
  if (!/^[0-9]{1,15}$/.test(text))
    throw new UsageError(`${flag}: give a position, a whole number from 0`);
  return Number(text);
}
