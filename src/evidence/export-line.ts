import { GENESIS, type ChainKind, type ChainLink, type ChainRow } from "./chain.ts";
import { isJsonObject, type JsonValue, parseJsonObject } from "../canon/json.ts";

/** The first line of an export: what it holds. */
export interface ExportHeader {
  /** The row before the first one. */
  readonly from: ChainLink;
  /** The last row that the export covers. */
  readonly to: ChainLink;
  /** Rows of this workspace only; then they are a selection, and no chain. */
  readonly workspace: string | null;
}

/** First line of an export of the policy log, which begins with the first row. */
export type PolicyExportHeader = Pick<ExportHeader, "to">;

/** One row of an export; `previous` is the hash of the row before it in the log. */
interface ExportRow extends ChainRow {
  readonly previous: string;
}

/** The same of the policy log. */
type PolicyExportRow = Omit<ExportRow, "kind" | "columns">;

const EVIDENCE_FORMAT = "signalbox.evidence.log.v1";
const POLICY_FORMAT = "signalbox.policies.log.v1";

export function formatHeader({ from, to, workspace }: ExportHeader): string {
  return JSON.stringify({ format: EVIDENCE_FORMAT, from: linkOf(from), to: linkOf(to), workspace });
}

export function formatPolicyHeader({ to }: PolicyExportHeader): string {
  return JSON.stringify({ format: POLICY_FORMAT, from: GENESIS, to: linkOf(to) });
}

const linkOf = ({ position, hash }: ChainLink): ChainLink => ({ position, hash });

/** `null` for a line that is no header of this format. */
export function readHeader(line: string): ExportHeader | null {
  const value = parseJsonObject(line);
  if (value?.format !== EVIDENCE_FORMAT) return null;
  const [from, to, workspace] = [readPosition(value.from), readPosition(value.to), value.workspace];
  if (from === null || to === null || (workspace !== null && typeof workspace !== "string"))
    return null;
  return { from, to, workspace };
}

/** `null` for a line that is no header of this format. */
export function readPolicyHeader(line: string): PolicyExportHeader | null {
  const value = parseJsonObject(line);
  if (value?.format !== POLICY_FORMAT) return null;
  const [from, to] = [readPosition(value.from), readPosition(value.to)];
  return from?.position === GENESIS.position && from.hash === GENESIS.hash && to !== null
    ? { to }
    : null;
}

function readPosition(value: JsonValue | undefined): ChainLink | null {
  if (!isJsonObject(value)) return null;
  const { position, hash } = value;
  // Messages quote both.
  const isHash = typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash);
  return isHash && typeof position === "number" && Number.isSafeInteger(position)
    ? { position, hash }
    : null;
}

/**
 * The record stands last and exactly as stored, so that the bytes that were hashed can be cut out
 * of the line with any tool; a JSON reader that writes them again might change them.
 */
export function formatRow({
  previous,
  position,
  kind,
  hash,
  record,
}: PolicyExportRow & { readonly kind: ChainKind | "policy" }): string {
  return `{"position":${position},"kind":"${kind}","previous":"${previous}","hash":"${hash}","record":${record}}`;
}

/** As an evidence row stands in its line, so that one verifier reads both. */
export function formatPolicyRow(row: PolicyExportRow): string {
  return formatRow({ ...row, kind: "policy" });
}

const ROW =
  /^\{"position":([0-9]{1,15}),"kind":"(decision|outcome|policy)","previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})","record":(.*)\}$/;

/** `null` for a line that is no row of the evidence. */
export function readRow(line: string): ExportRow | null {
  const [, position, kind, previous = "", hash = "", record = ""] = ROW.exec(line) ?? [];
  return kind === "decision" || kind === "outcome"
    ? { position: Number(position), kind, previous, hash, record }
    : null;
}

/** `null` for a line that is no row of the policy log. */
export function readPolicyRow(line: string): PolicyExportRow | null {
  const [, position, kind, previous = "", hash = "", record = ""] = ROW.exec(line) ?? [];
  return kind === "policy" ? { position: Number(position), previous, hash, record } : null;
}
