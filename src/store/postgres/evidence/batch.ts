import { encodeBatch, FrameCursor, workspaceNumberOf } from "../../batch/frames.ts";
import { NO_IDS, widened, type IdRange } from "../../batch/stored-batch.ts";
import { DECISION_FIELDS, OUTCOME_FIELDS, type DecisionFields, type OutcomeFields } from "../../evidence-batch.ts";

/** One record to add. */
export interface BatchItem {
  /** Kind. */
  readonly k: "decision" | "outcome";
  /** Request id. */
  readonly r: string;
  /** Milliseconds since the epoch. */
  readonly a: number;
  /** Workspace of a decision; an outcome gets that of its decision. */
  readonly w: string | null;
  /** The record's text. */
  readonly t: string;
}

/** What of a batch is to be added; repetitions within it are found here, so that no item stands twice. */
export interface EvidenceBatch {
  readonly items: readonly BatchItem[];
  /** For each item: its index among the batch's decisions, `null` for an outcome. */
  readonly positions: readonly (number | null)[];
  /** Positions of the decisions whose request id occurs earlier in the batch. */
  readonly duplicates: readonly number[];
  /** Outcomes whose request has another one in the batch before. */
  readonly lost: number;
}

export function toBatch(decisions: DecisionFields, outcomes: OutcomeFields): EvidenceBatch {
  const items: BatchItem[] = [];
  const positions: (number | null)[] = [];
  const duplicates: number[] = [];
  const decided = new Set<string>();
  for (let index = 0; index < decisions.length; index += DECISION_FIELDS) {
    const requestId = String(decisions[index + 1]);
    const position = index / DECISION_FIELDS;
    if (decided.has(requestId)) {
      duplicates.push(position);
      continue;
    }
    const workspace = decisions[index + 2];
    const w = typeof workspace === "string" ? workspace : null;
    decided.add(requestId);
    items.push({ k: "decision", r: requestId, a: Number(decisions[index]), w, t: String(decisions[index + 3]) });
    positions.push(position);
  }
  const ended = new Set<string>();
  let lost = 0;
  for (let index = 0; index < outcomes.length; index += OUTCOME_FIELDS) {
    const [a = 0, r = "", t = ""] = outcomes.slice(index, index + OUTCOME_FIELDS);
    if (ended.has(String(r))) {
      lost += 1;
      continue;
    }
    ended.add(String(r));
    items.push({ k: "outcome", r: String(r), a: Number(a), w: null, t: String(t) });
    positions.push(null);
  }
  return { items, positions, duplicates, lost };
}

/** A batch as the function `append_evidence` takes it: decisions first. */
interface FramedBatch {
  /** Request ids of its decisions. */
  readonly decided: readonly string[];
  /** Of each decision: its workspace's number in `workspaces`, from 1; 0 for none. */
  readonly workspaceNumbers: readonly number[];
  /** Request ids of its outcomes. */
  readonly ended: readonly string[];
  /** Where the text of each record begins and ends in `records`. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly decidedIds: IdRange;
  readonly endedIds: IdRange;
  readonly workspaces: readonly string[];
  readonly records: Uint8Array;
}

/**
 * Frames items whose decisions stand first.
 *
 * @param workspaceOf the workspace of a request whose decision is in an earlier batch; `null` for none
 */
export function frameItems(
  items: readonly BatchItem[],
  workspaceOf: (requestId: string) => string | null,
): FramedBatch {
  const decisions: DecisionFields = [];
  const outcomes: OutcomeFields = [];
  const within = new Map<string, string | null>();
  for (const { k, r, a, w, t } of items) {
    if (k === "decision") decisions.push(a, r, w, t);
    else outcomes.push(a, r, t);
    if (k === "decision") within.set(r, w);
  }
  const batch = encodeBatch(decisions, outcomes);
  const workspaces = [...batch.workspaces];
  const [decided, ended]: [string[], string[]] = [[], []];
  const [workspaceNumbers, starts, ends]: [number[], number[], number[]] = [[], [], []];
  let [decidedIds, endedIds] = [NO_IDS, NO_IDS];
  const cursor = new FrameCursor(batch.bytes);
  for (const { k, r } of items) {
    cursor.next();
    if (k === "decision") {
      decided.push(r);
      decidedIds = widened(decidedIds, r);
      workspaceNumbers.push(cursor.workspaceNumber);
    } else {
      ended.push(r);
      endedIds = widened(endedIds, r);
      const workspace = within.has(r) ? within.get(r) : workspaceOf(r);
      if (typeof workspace === "string") cursor.workspaceNumber = workspaceNumberOf(workspace, workspaces);
    }
    starts.push(cursor.recordStart);
    ends.push(cursor.end);
  }
  return { decided, workspaceNumbers, ended, starts, ends, decidedIds, endedIds, workspaces, records: cursor.bytes };
}
