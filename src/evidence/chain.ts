import { hash as digest } from "node:crypto";
import { parseJsonObject } from "../canon/json.ts";

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
  /** Columns for look-ups, where the row comes from a database. */
  readonly columns?: RowColumns;
}

/** Columns for look-ups, outside the chain: copies of members of the records. */
export interface RowColumns {
  /** Smallest and largest request id. */
  readonly lowest: string;
  readonly highest: string;
  /** An empty text where no key was accepted. */
  readonly workspaces: readonly string[];
}

/**
 * The hash of the row at `position`: SHA-256 of the hash before it, the position, the kind and the
 * record, each but the last followed by a line feed. None of the first three can hold a line feed,
 * so no two rows share a text.
 *
 * @param previous hash of the row before, 64 hexadecimal digits
 */
export function chainHash(
  previous: string,
  position: number,
  kind: ChainKind | "policy",
  record: string,
): string {
  return digest("sha256", `${previous}\n${position}\n${kind}\n${record}`, "hex");
}

/**
 * Why a log does not verify. `gap`: a row is missing, repeated or out of order. `hash`: the row, or
 * one before it, is not what was written. `column`: the columns for look-ups differ from the
 * record, or a running request is listed as ended or the other way round. `anchor`: the chain holds
 * in itself but is not the one that was remembered. `end`: the log ends before a remembered
 * position.
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

/** Positions of a log that were noted before, in it or elsewhere. */
export class RememberedLinks {
  readonly #hashes: ReadonlyMap<number, readonly ChainLink[]>;

  constructor(links: readonly ChainLink[]) {
    this.#hashes = Map.groupBy(links, ({ position }) => position);
  }

  /** Whether a row has the hash that was noted for its position, if any was. */
  match({ position, hash }: ChainLink): boolean {
    return (this.#hashes.get(position) ?? []).every((noted) => noted.hash === hash);
  }

  /** Whether the log ends before a noted position. */
  reachBeyond(head: ChainLink): boolean {
    return this.#hashes.keys().some((position) => position > head.position);
  }
}

interface ChainStart {
  /** Where the log begins: {@link GENESIS}, or the anchor that what was pruned ended at. */
  readonly from: ChainLink;
  /** Remembered positions, of this log or elsewhere; those before `from` are skipped. */
  readonly remembered?: readonly ChainLink[];
}

/** Ended requests that are remembered for finding repetitions, at most twice as many. */
const ENDED_REMEMBERED = 200_000;

export type ChainVerifier = ReturnType<typeof chainVerifier>;

/**
 * Verifies a log row by row, in constant memory for any length. Discard it after a fault.
 *
 * That a request id is not used twice is checked among those that run and the newest 200,000 that
 * have ended; the store's own unique index covers all of them.
 */
export function chainVerifier({ from, remembered = [] }: ChainStart) {
  const open = new Map<string, Decided>();
  /** With the positions of their outcomes. */
  let ended = new Map<string, number>();
  let endedBefore: ReadonlyMap<string, number> = new Map();
  let count = 0;
  let newest: ChainLink = from;
  const fromGenesis = from.position === 0;
  const links = new RememberedLinks(remembered);

  /** Where the request ended; `null` where that was not seen, or is long ago. */
  function endOf(requestId: string) {
    return ended.get(requestId) ?? endedBefore.get(requestId) ?? null;
  }

  function causeIn(row: ChainRow): ChainCause | null {
    if (chainHash(newest.hash, row.position, row.kind, row.record) !== row.hash) return "hash";
    if (!links.match(row)) return "anchor";
    const facts = readFacts(row.record);
    if (facts === null) return "unreadable";
    const { requestId, workspace } = facts;
    const decided =
      row.kind === "decision" ? { position: row.position, workspace } : open.get(requestId);
    const cause =
      row.kind === "decision" ? addDecision(facts, row.position) : settle(requestId, row.position);
    if (cause !== null || row.columns === undefined) return cause;
    const { lowest, highest, workspaces } = row.columns;
    // The workspace of an outcome is unknown once its decision was pruned.
    const isListed = decided === undefined || workspaces.includes(decided.workspace ?? "");
    return isListed && requestId >= lowest && requestId <= highest ? null : "column";
  }

  function addDecision({ requestId, workspace }: RecordFacts, position: number): ChainCause | null {
    if (open.has(requestId) || endOf(requestId) !== null) return "duplicate";
    open.set(requestId, { position, workspace });
    return null;
  }

  function settle(requestId: string, position: number): ChainCause | null {
    if (endOf(requestId) !== null) return "duplicate";
    // The decision may have been pruned, but not in a log from its beginning.
    if (!open.delete(requestId) && fromGenesis) return "outcome_before_decision";
    if (ended.size >= ENDED_REMEMBERED) {
      endedBefore = ended;
      ended = new Map();
    }
    ended.set(requestId, position);
    return null;
  }

  return {
    /** The newest row that verified, or where the log begins. */
    get head(): ChainLink {
      return newest;
    },
    /** How many rows verified. */
    get rows(): number {
      return count;
    },
    /** Decisions seen whose outcome has not been. */
    get running(): number {
      return open.size;
    },
    /** Positions of the decisions seen whose outcome has not been, by request id. */
    runningPositions(): ReadonlyMap<string, number> {
      return new Map([...open].map(([requestId, { position }]) => [requestId, position]));
    },
    endOf,
    /** Whether the beginning itself is what was remembered of it. Call before the first row. */
    begin(): ChainFault | null {
      return links.match(newest) ? null : { position: newest.position, cause: "anchor" };
    },
    /** Takes the next row; gives what is wrong with it. */
    add(row: ChainRow): ChainFault | null {
      const position = newest.position + 1;
      if (row.position !== position) return { position, cause: "gap" };
      const cause = causeIn(row);
      if (cause !== null) return { position, cause };
      newest = { position, hash: row.hash };
      count += 1;
      return null;
    },
    /** Call after the last row: whether the log reaches as far as was remembered. */
    end(): ChainFault | null {
      if (!links.reachBeyond(newest)) return null;
      return { position: newest.position + 1, cause: "end" };
    },
  };
}

interface Decided {
  readonly position: number;
  readonly workspace: string | null;
}

/** The members that every reader of a record needs. */
export interface RecordFacts {
  readonly requestId: string;
  /** Milliseconds since the epoch; 0 where the record has no time. */
  readonly at: number;
  /** `null` for an outcome, and where no key was accepted. */
  readonly workspace: string | null;
}

/** `null` for a text that has no request id. */
export function readFacts(record: string): RecordFacts | null {
  const { requestId, at, workspace } = parseJsonObject(record) ?? {};
  if (typeof requestId !== "string") return null;
  return {
    requestId,
    at: typeof at === "number" ? at : 0,
    workspace: typeof workspace === "string" ? workspace : null,
  };
}
