import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { ChainLink } from "../../evidence/chain.ts";
import { UsageError } from "../terminal/command-io.ts";

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
    throw new UsageError(`--anchor: ${SUCH}, or a file of such lines; there is no such file that can be read`);
  }
  if (lines.length === 0) throw new UsageError(`--anchor: the file is empty; ${SUCH}`);
  return lines.map((line) => readLink(line, "--anchor"));
}

/** Reads a position. @throws {UsageError} naming the flag. */
export function readPosition(text: string, flag: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new UsageError(`${flag}: give a position, a whole number from 0`);
  return Number(text);
}
