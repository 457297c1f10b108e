import {
  chainHash,
  readFacts,
  type ChainKind,
  type ChainLink,
  type ChainRow,
  type RecordFacts,
} from "../../evidence/chain.ts";
import type { LogRow } from "../../evidence/evidence-store.ts";
import { formatRow, readRow } from "../../evidence/export-line.ts";
import {
  DECISION_FIELDS,
  OUTCOME_FIELDS,
  type DecisionFields,
  type OutcomeFields,
} from "../evidence-batch.ts";
import { compressedRecords, decompressedRecords } from "./compression.ts";

/** A batch of the log as stored. */
export interface StoredBatch {
  /** Position of its first record. */
  readonly first: number;
  readonly last: number;
  /** Hash of the chain up to and with its last record. */
  readonly hash: string;
  /** Smallest and largest request id of its records. */
  readonly lowest: string;
  readonly highest: string;
  /** Workspaces of its records; an empty text where no key was accepted. */
  readonly workspaces: readonly string[];
  /** The lines of an export (`evidence/export-line.ts`), compressed where that is smaller. */
  readonly records: Uint8Array<ArrayBuffer>;
}

/** A record that is to be added to the log. */
export interface NewRecord {
  readonly kind: ChainKind;
  readonly requestId: string;
  /** Of a decision; empty where no key was accepted. */
  readonly workspace: string;
  /** JSON text. */
  readonly record: string;
}

/** The records of one batch, decisions first. */
export function toRecords(
  decisions: Readonly<DecisionFields>,
  outcomes: Readonly<OutcomeFields>,
): readonly NewRecord[] {
  const records: NewRecord[] = [];
  for (let index = 0; index < decisions.length; index += DECISION_FIELDS) {
    records.push({
      kind: "decision",
      requestId: String(decisions[index + 1]),
      workspace: String(decisions[index + 2] ?? ""),
      record: String(decisions[index + 3]),
    });
  }
  for (let index = 0; index < outcomes.length; index += OUTCOME_FIELDS) {
    records.push({
      kind: "outcome",
      requestId: String(outcomes[index + 1]),
      workspace: "",
      record: String(outcomes[index + 2]),
    });
  }
  return records;
}

/**
 * Chains records to the log's newest row.
 *
 * @param records one at least
 * @param workspaces of the records, and perhaps some of them twice
 */
export function sealBatch(
  head: ChainLink,
  records: readonly Pick<NewRecord, "kind" | "requestId" | "record">[],
  workspaces: Iterable<string>,
): StoredBatch {
  let { position, hash } = head;
  let [lowest, highest] = [records[0]?.requestId ?? "", ""];
  const lines: string[] = [];
  for (const { kind, requestId, record } of records) {
    const previous = hash;
    position += 1;
    hash = chainHash(previous, position, kind, record);
    lines.push(formatRow({ previous, position, kind, hash, record }));
    if (requestId < lowest) lowest = requestId;
    if (requestId > highest) highest = requestId;
  }
  return {
    first: head.position + 1,
    last: position,
    hash,
    lowest,
    highest,
    workspaces: [...new Set(workspaces)],
    records: compressedRecords(new TextEncoder().encode(lines.join("\n"))),
  };
}

/** A record of a batch, and what every reader needs of it. */
export interface BatchRow extends ChainRow, RecordFacts {}

/** The records of a batch, up to the first that somebody damaged. */
export function* readLines(batch: StoredBatch): Generator<ChainRow, void> {
  let position = batch.first;
  for (const line of Buffer.from(decompressedRecords(batch.records)).toString().split("\n")) {
    const row = readRow(line);
    if (row?.position !== position) return;
    yield row;
    position += 1;
  }
}

/** The same, up to the first that is no record. */
export function* readRows(batch: StoredBatch): Generator<BatchRow, void> {
  for (const row of readLines(batch)) {
    const facts = readFacts(row.record);
    if (facts === null) return;
    yield { ...facts, ...row };
  }
}

/** The rows of a batch after a position. */
export function* logRows(batch: StoredBatch, after: number): Generator<LogRow, void> {
  const { first, last, hash, lowest, highest, workspaces } = batch;
  const columns = { lowest, highest, workspaces };
  let next = first;
  for (const row of readLines(batch)) {
    next = row.position + 1;
    // Of the last row the column, to which the next batch is chained.
    if (row.position > after) {
      const { position, kind, record } = row;
      yield { position, kind, record, hash: position === last ? hash : row.hash, columns };
    }
  }
  // Records are missing in it: verifying must not take the next batch, or the end of the log, for
  // what follows.
  if (next <= last && last > after)
    yield { position: next, kind: "outcome", record: "", hash, columns };
}

/**
 * Decisions of processes that are gone and did not end them, by request id: when the process was
 * last known to run.
 */
export type Abandoned = ReadonlyMap<string, number>;
