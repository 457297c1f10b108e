import { hash as digest } from "node:crypto";
import { parseJson } from "../canon/json.ts";

/** A position in the chain; `hash` covers everything up to it. */
export interface ChainLink {
  /** 0 before the first row. */
  readonly position: number;
  /** SHA-256, 64 lower-case hexadecimal digits. */
  readonly hash: string;
}

/** Before the first row of a log. */
export const GENESIS: ChainLink = { position: 0, hash: "0".repeat(64) };

export type ChainKind = "decision" | "outcome";

export interface ChainRow extends ChainLink {
  readonly kind: ChainKind;
  /** The record's JSON text, exactly as stored. */
  readonly record: string;
  /** What the row is looked up by, where it comes from a database. */
  readonly columns?: RowColumns;
}

/** Copies of what the record says, outside the chain: readings, selections and retention go by them. */
export interface RowColumns {
  readonly requestId: string;
  /** Whole milliseconds since the epoch. */
  readonly at: number;
  /** Of an outcome, that of its decision. */
  readonly workspace: string | null;
  /** Whether a look-up by the request's id finds it; `true` where absent. */
  readonly isFound?: boolean;
}

/**
 * The hash of the row at `position`: SHA-256 of the hash before it, the position, the kind and the record, each but the
 * last followed by a line feed. None of the first three can hold a line feed, so no two rows share a text.
 *
 * @param previous hash of the row before, 64 hexadecimal digits
 */
export function chainHash(previous: string, position: number, kind: ChainKind | "policy", record: string): string {
  return digest("sha256", `${previous}\n${position}\n${kind}\n${record}`, "hex");
}

/** Hashing one piece of bytes in one call costs half of what an object for it does. */
let text = Buffer.allocUnsafe(4_096);

/** {@link chainHash} over the UTF-8 bytes of a record. */
export function hashedRecord(previous: string, position: number, kind: ChainKind, record: Uint8Array): string {
  const before = `${previous}\n${position}\n${kind}\n`;
  const length = before.length + record.length;
  if (length > text.length) text = Buffer.allocUnsafe(length * 2);
  text.write(before, 0, "latin1");
  text.set(record, before.length);
  return digest("sha256", text.subarray(0, length), "hex");
}

/**
 * Why a log does not verify. `gap`: a row is missing, repeated or out of order. `hash`: the row, or one before it,
 * is not what was written. `column`: what the row is looked up by is not what its record says, or a running request is
 * listed as ended or the other way round. `anchor`: the chain holds in itself but is not the one that was remembered. `end`: the log
 * ends before a remembered position.
 */
export type ChainCause =
  | "gap"
  | "hash"
  | "unreadable"
  | "column"
  | "duplicate"
  | "outcome_before_decision"
  | "anchor"
  | "end";

export interface ChainFault {
  /** The first position that does not verify. */
  readonly position: number;
  readonly cause: ChainCause;
}

interface ChainStart {
  /** Where the log begins: {@link GENESIS}, or the anchor that what was pruned ended at. */
  readonly from: ChainLink;
  /** Positions remembered before, in this log or elsewhere. Those before `from` cannot be checked and are skipped. */
  readonly remembered?: readonly ChainLink[];
}

/** Requests that have ended are remembered for finding repetitions; at most twice so many at a time. */
const ENDED_REMEMBERED = 200_000;

/**
 * Verifies a log row by row, in constant memory for any length. After a fault it is of no more use.
 *
 * That a request id is not used twice is checked among those that run and the newest 200,000 that have ended; the
 * store's own unique index covers all of them.
 */
export class ChainVerifier {
  readonly #remembered = new Map<number, string[]>();
  readonly #fromGenesis: boolean;
  readonly #running = new Map<string, Decided>();
  #ended = new Set<string>();
  #endedBefore: ReadonlySet<string> = new Set();
  #head: ChainLink;
  #rows = 0;

  constructor({ from, remembered = [] }: ChainStart) {
    this.#head = from;
    this.#fromGenesis = from.position === 0;
    for (const { position, hash } of remembered) {
      this.#remembered.set(position, [...(this.#remembered.get(position) ?? []), hash]);
    }
  }

  /** The newest row that verified, or where the log begins. */
  get head(): ChainLink {
    return this.#head;
  }

  /** How many rows verified. */
  get rows(): number {
    return this.#rows;
  }

  /** Decisions seen whose outcome has not been. */
  get running(): number {
    return this.#running.size;
  }

  /** Positions of the decisions seen whose outcome has not been. */
  runningPositions(): readonly number[] {
    return [...this.#running.values()].map(({ position }) => position);
  }

  /** Whether the beginning itself is what was remembered of it. Call before the first row. */
  begin(): ChainFault | null {
    return this.#matches(this.#head) ? null : { position: this.#head.position, cause: "anchor" };
  }

  /** Takes the next row; gives what is wrong with it. */
  add(row: ChainRow): ChainFault | null {
    const position = this.#head.position + 1;
    if (row.position !== position) return { position, cause: "gap" };
    const cause = this.#causeIn(row);
    if (cause !== null) return { position, cause };
    this.#head = { position, hash: row.hash };
    this.#rows += 1;
    return null;
  }

  /** Call after the last row: whether the log reaches as far as was remembered. */
  end(): ChainFault | null {
    for (const position of this.#remembered.keys()) {
      if (position > this.#head.position) return { position: this.#head.position + 1, cause: "end" };
    }
    return null;
  }

  #causeIn(row: ChainRow): ChainCause | null {
    if (chainHash(this.#head.hash, row.position, row.kind, row.record) !== row.hash) return "hash";
    if (!this.#matches(row)) return "anchor";
    const facts = factsOf(row.record);
    if (facts === null) return "unreadable";
    const { requestId, at, workspace } = facts;
    const decided = row.kind === "decision" ? { position: row.position, workspace } : this.#running.get(requestId);
    const cause = row.kind === "decision" ? this.#decide(facts, row.position) : this.#settle(requestId);
    if (cause !== null || row.columns === undefined) return cause;
    const { columns } = row;
    const isTrue =
      columns.requestId === requestId &&
      columns.isFound !== false &&
      (at === null || columns.at === Math.trunc(at)) &&
      // Where the decision was pruned, nothing says any more whose outcome it is.
      (decided === undefined || columns.workspace === decided.workspace);
    return isTrue ? null : "column";
  }

  #matches({ position, hash }: ChainLink): boolean {
    return (this.#remembered.get(position) ?? []).every((known) => known === hash);
  }

  #decide({ requestId, workspace }: RecordFacts, position: number): ChainCause | null {
    if (this.#running.has(requestId) || this.#hasEnded(requestId)) return "duplicate";
    this.#running.set(requestId, { position, workspace });
    return null;
  }

  #settle(requestId: string): ChainCause | null {
    if (this.#hasEnded(requestId)) return "duplicate";
    // What was pruned may hold the decision; from the very beginning there is no such excuse.
    if (!this.#running.delete(requestId) && this.#fromGenesis) return "outcome_before_decision";
    if (this.#ended.size >= ENDED_REMEMBERED) {
      this.#endedBefore = this.#ended;
      this.#ended = new Set();
    }
    this.#ended.add(requestId);
    return null;
  }

  #hasEnded(requestId: string): boolean {
    return this.#ended.has(requestId) || this.#endedBefore.has(requestId);
  }
}

interface Decided {
  readonly position: number;
  readonly workspace: string | null;
}

interface RecordFacts {
  readonly requestId: string;
  /** `null` where the record does not say. */
  readonly at: number | null;
  readonly workspace: string | null;
}

function factsOf(record: string): RecordFacts | null {
  try {
    const value: unknown = parseJson(record);
    if (typeof value !== "object" || value === null) return null;
    const [requestId, at, workspace]: readonly unknown[] = [
      Reflect.get(value, "requestId"),
      Reflect.get(value, "at"),
      Reflect.get(value, "workspace"),
    ];
    if (typeof requestId !== "string") return null;
    return {
      requestId,
      at: typeof at === "number" ? at : null,
      workspace: typeof workspace === "string" ? workspace : null,
    };
  } catch {
    return null;
  }
}
