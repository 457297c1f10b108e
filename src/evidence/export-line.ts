import type { ChainLink, ChainRow } from "./chain.ts";
import { isJsonObject, type JsonValue, parseJson } from "../canon/json.ts";

/** The first line of an export: what it holds. */
export interface ExportHeader {
  /** The row before the first one. */
  readonly from: ChainLink;
  /** The last row that the export covers. */
  readonly to: ChainLink;
  /** Rows of this workspace only; then they are a selection, and no chain. */
  readonly workspace: string | null;
}

/** One row of an export; `previous` is the hash of the row before it in the log. */
interface ExportRow extends ChainRow {
  readonly previous: string;
}

const FORMAT = "signalbox.evidence.log.v1";

export function formatHeader({ from, to, workspace }: ExportHeader): string {
  return JSON.stringify({ format: FORMAT, from: linkOf(from), to: linkOf(to), workspace });
}

export const linkOf = ({ position, hash }: ChainLink): ChainLink => ({ position, hash });

/** `null` for a line that is no header of this format. */
export function readHeader(line: string): ExportHeader | null {
  const value = parse(line);
  if (!isJsonObject(value) || value["format"] !== FORMAT) return null;
  const [from, to, workspace] = [readPosition(value["from"]), readPosition(value["to"]), value["workspace"]];
  if (from === null || to === null || (workspace !== null && typeof workspace !== "string")) return null;
  return { from, to, workspace };
}

export function readPosition(value: JsonValue | undefined): ChainLink | null {
  if (!isJsonObject(value)) return null;
  const { position, hash } = value;
  return typeof position === "number" && typeof hash === "string" ? { position, hash } : null;
}

/**
 * The record stands last and exactly as stored, so that the bytes that were hashed can be cut out of the line with any
 * tool; a JSON reader that writes it anew might change them.
 */
export function formatRow({ previous, position, kind, hash, record }: ExportRow): string {
  return `{"position":${position},"kind":"${kind}","previous":"${previous}","hash":"${hash}","record":${record}}`;
}

const ROW =
  /^\{"position":([0-9]{1,15}),"kind":"(decision|outcome)","previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})","record":(.*)\}$/;

/** `null` for a line that is no row of this format. */
export function readRow(line: string): ExportRow | null {
  const [, position, kind, previous, hash, record] = ROW.exec(line) ?? [];
  if (position === undefined || previous === undefined || hash === undefined || record === undefined) return null;
  return { position: Number(position), kind: kind === "decision" ? "decision" : "outcome", previous, hash, record };
}

export function parse(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}
