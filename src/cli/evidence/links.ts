import type { ChainLink } from "../../evidence/chain.ts";
import { UsageError } from "../terminal/command-io.ts";

/** A place in the chain as people note it: `POSITION:HASH`. */
export function formatLink({ position, hash }: ChainLink): string {
  return `${position}:${hash}`;
}

/** Reads what {@link formatLink} wrote. @throws {UsageError} naming the flag. */
export function readLink(text: string, flag: string): ChainLink {
  const [, digits = "", hash = ""] = /^([0-9]{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (digits === "") throw new UsageError(`${flag}: give POSITION:HASH, such as "signalbox evidence anchor" prints`);
  return { position: Number(digits), hash };
}

/** Reads a position. @throws {UsageError} naming the flag. */
export function readPosition(text: string, flag: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new UsageError(`${flag}: give a position, a whole number from 0`);
  return Number(text);
}
