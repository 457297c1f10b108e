import { isJsonObject } from "../canon/json.ts";
import { GENESIS, type ChainLink } from "./chain.ts";
import { parse, linkOf, readPosition } from "./export-line.ts";

/** The first line of an export of the policy log. It begins with the first row: what a row means follows from all before it. */
export interface PolicyExportHeader {
  /** The last row that the export covers. */
  readonly to: ChainLink;
}

interface PolicyExportRow extends ChainLink {
  /** Hash of the row before it. */
  readonly previous: string;
  /** JSON exactly as it was hashed. */
  readonly record: string;
}

const FORMAT = "signalbox.policies.log.v1";

export function formatPolicyHeader({ to }: PolicyExportHeader): string {
  return JSON.stringify({ format: FORMAT, from: GENESIS, to: linkOf(to) });
}

/** `null` for a line that is no header of this format. */
export function readPolicyHeader(line: string): PolicyExportHeader | null {
  const value = parse(line);
  if (!isJsonObject(value) || value["format"] !== FORMAT) return null;
  const [from, to] = [readPosition(value["from"]), readPosition(value["to"])];
  return from?.position === GENESIS.position && from.hash === GENESIS.hash && to !== null ? { to } : null;
}

/** As an evidence row stands in its line, so that one verifier reads both. */
export function formatPolicyRow({ position, previous, hash, record }: PolicyExportRow): string {
  return `{"position":${position},"kind":"policy","previous":"${previous}","hash":"${hash}","record":${record}}`;
}

const ROW =
  /^\{"position":([0-9]{1,15}),"kind":"policy","previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})","record":(.*)\}$/;

/** `null` for a line that is no row of this format. */
export function readPolicyRow(line: string): PolicyExportRow | null {
  const [, position, previous, hash, record] = ROW.exec(line) ?? [];
  if (position === undefined || previous === undefined || hash === undefined || record === undefined) return null;
  return { position: Number(position), previous, hash, record };
}
