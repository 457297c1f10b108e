/** Smallest and largest of some request ids; both empty where there are none. */
export interface IdRange {
  readonly lowest: string;
  readonly highest: string;
}

export const NO_IDS: IdRange = { lowest: "", highest: "" };

/** A batch as stored. */
export interface StoredBatch {
  /** Position of its first record. */
  readonly first: number;
  readonly last: number;
  /** Hash of the chain up to and with its last record. */
  readonly hash: string;
  readonly process: number;
  /** When the process that wrote it was last known to run, where it runs no longer; otherwise `null`. */
  readonly diedAt: number | null;
  readonly workspaces: readonly string[];
  readonly decided: IdRange;
  readonly ended: IdRange;
  /** The largest request id of a decision up to here. */
  readonly highWater: string;
  /** Frames (`batch/frames.ts`). */
  readonly records: Uint8Array<ArrayBuffer>;
}

/** The range with one more id. */
export function widened(range: IdRange, requestId: string): IdRange {
  if (range.highest === "") return { lowest: requestId, highest: requestId };
  if (requestId > range.highest) return { lowest: range.lowest, highest: requestId };
  return requestId < range.lowest ? { lowest: requestId, highest: range.highest } : range;
}
