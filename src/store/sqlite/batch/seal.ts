import { hashedRecord, type ChainLink } from "../../../evidence/chain.ts";
import { FrameCursor, workspaceNumberOf, type RecordBatch } from "../../batch/frames.ts";
import { NO_IDS, widened, type IdRange } from "../../batch/stored-batch.ts";
import { OpenDecision, OpenDecisions } from "./open-decision.ts";

/** One record of a batch, as far as the state of the log follows from it. */
export interface LogStep {
  readonly decision: OpenDecision;
  /** The record is the decision's outcome, not the decision itself. */
  readonly ends: boolean;
  /** Where the record's text is in the bytes. */
  readonly from: number;
  readonly to: number;
}

/** A batch that is ready to be stored, or was. */
export interface SealedBatch {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly workspaces: readonly string[];
  readonly process: number;
  readonly steps: readonly LogStep[];
  /** The last record. */
  readonly head: ChainLink;
  /** Smallest and largest request id of the decisions, empty without any. */
  readonly decided: IdRange;
  /** The same of the outcomes. */
  readonly ended: IdRange;
  /** Indexes of the decisions that were left out because the request id is there already, among all decisions. */
  readonly duplicates: readonly number[];
  /** How many outcomes were left out: without a decision, or with an outcome there already. */
  readonly lost: number;
}

/** What is known of the log before the batch. */
export interface KnownLog {
  readonly head: ChainLink;
  /** The largest request id of a decision; empty without any. */
  readonly highWater: string;
  /** Whether there is a decision with this request id, which is not larger than {@link highWater}. */
  knows(requestId: string): boolean;
  /** The running requests. */
  readonly open: OpenDecisions;
}

/**
 * Chains the records of a batch to the log, in place, and leaves out what the log has already. Ids rise with time: most
 * decisions have a larger one than all before, and most outcomes are of earlier batches, so that nothing is looked up.
 */
export function sealBatch(batch: RecordBatch, process: number, known: KnownLog): SealedBatch {
  const cursor = new FrameCursor(batch.bytes);
  const workspaces = [...batch.workspaces];
  const steps: LogStep[] = [];
  const duplicates: number[] = [];
  /** Those of this batch; filled when one is looked for. */
  let opened: OpenDecisions | null = null;
  let { position, hash } = known.head;
  let [decisions, lost, length] = [0, 0, 0];
  let [decided, ended] = [NO_IDS, NO_IDS];
  while (cursor.next()) {
    const { requestId, kind } = cursor;
    const ends = kind === "outcome";
    let decision: OpenDecision | undefined;
    if (isWithin(requestId, decided)) {
      opened ??= openedIn(steps);
      decision = opened.get(requestId);
    }
    if (ends) {
      decision ??= known.open.get(requestId);
      if (decision === undefined || decision.endsIn === steps) {
        lost += 1;
        continue;
      }
      decision.endsIn = steps;
      ended = widened(ended, requestId);
    } else {
      decisions += 1;
      if (decision !== undefined || (requestId <= known.highWater && known.knows(requestId))) {
        duplicates.push(decisions - 1);
        continue;
      }
      const workspace = workspaces[cursor.workspaceNumber - 1] ?? null;
      decision = new OpenDecision(requestId, position + 1, process, workspace);
      opened?.add(decision);
      decided = widened(decided, requestId);
    }
    if (cursor.start > length) cursor.moveTo(length);
    length = cursor.end;
    if (ends && decision.workspace !== null) cursor.workspaceNumber = workspaceNumberOf(decision.workspace, workspaces);
    position += 1;
    hash = hashedRecord(hash, position, kind, cursor.bytes.subarray(cursor.recordStart, cursor.end));
    cursor.hash = hash;
    steps.push({ decision, ends, from: cursor.recordStart, to: cursor.end });
  }
  const bytes = cursor.bytes.subarray(0, length);
  return { bytes, workspaces, process, steps, head: { position, hash }, decided, ended, duplicates, lost };
}

function openedIn(steps: readonly LogStep[]): OpenDecisions {
  return new OpenDecisions(steps.filter(({ ends }) => !ends).map(({ decision }) => decision));
}

function isWithin(requestId: string, { lowest, highest }: IdRange): boolean {
  return requestId <= highest && requestId >= lowest;
}
