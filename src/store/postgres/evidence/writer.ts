import { randomUUID } from "node:crypto";
import { StoreUnavailableError } from "../../../canon/error.ts";
import { GENESIS } from "../../../evidence/chain.ts";
import type { EvidenceFault } from "../../../evidence/evidence-store.ts";
import type { NewRecord } from "../../batch/batch-lines.ts";
import type { Appended } from "../../evidence-queue.ts";
import { readNumber } from "../../rows.ts";
import { textArray } from "../pool.ts";
import { StatementFailure, isRetryable } from "../failure.ts";
import type { PostgresLink } from "../link.ts";
import { BATCH_REJECTED } from "./schema.ts";
import { type EvidenceSealer, encodeWritten } from "./sealer.ts";

const APPEND = `
SELECT signalbox.append_evidence($1, $2, $3, $4::text::text[], $5::text::text[], $6::text::text[], $7) AS state`;

/** Positions, from 1, of decisions with a known request id, and outcomes of no running one. */
const FIND_REFUSED = `
SELECT given.place FROM unnest($1::text::text[]) WITH ORDINALITY AS given (request_id, place)
WHERE EXISTS (SELECT FROM signalbox.evidence_requests AS request WHERE request.request_id = given.request_id)
UNION ALL
SELECT cardinality($1::text::text[]) + given.place
FROM unnest($2::text::text[]) WITH ORDINALITY AS given (request_id, place)
WHERE given.request_id <> ALL ($1::text::text[]) AND NOT EXISTS (SELECT FROM signalbox.evidence_requests AS request
  WHERE request.request_id = given.request_id AND request.ended_at IS NULL)`;

const HAS_OWN = "SELECT coalesce(signalbox.has_batch($1, $2, $3), false) AS present";

const DIVERGED =
  "the evidence in the database is not what this process wrote; name the right server, or restart to use what is there now";

/** Records of one statement; at about 10 µs each it stays far below the statement's time. */
const LARGEST_STATEMENT = 2_000;

/** A batch of which is not known whether it was written. */
interface SentBatch {
  readonly number: number;
  readonly records: readonly NewRecord[];
}

export type EvidenceWriter = ReturnType<typeof evidenceWriter>;

/**
 * Writes batches of this process. They become a part of the log later.
 *
 * @param maxWait how long a lost batch is tried again, milliseconds: while answers wait
 */
export function evidenceWriter(
  link: PostgresLink,
  lease: ProcessLease,
  sealer: EvidenceSealer,
  maxWait: number,
) {
  let found: EvidenceFault | null = null;
  /** Of the newest batch that is written. */
  let newest = 0;
  let pending: SentBatch | null = null;
  let previous: Promise<unknown> = Promise.resolve();

  /** Sets {@link fault} by comparing what is durable. @throws {StoreUnavailableError} */
  async function compare() {
    let { cause }: { cause: EvidenceFault["cause"] | null } = await sealer.readHead();
    const lastBatch = newest;
    if (cause === null && lastBatch > 0) {
      const row = (await link.query(HAS_OWN, [lease.id, lease.token, lastBatch]))[0];
      if (row?.present !== true) cause = "log_behind";
    }
    found = cause === null ? null : { cause, file: null };
  }

  async function appendNext(records: readonly NewRecord[]): Promise<Appended> {
    const deadline = performance.now() + maxWait;
    // Its records are among these, unless the queue has dropped them since.
    const writtenKeys = new Set(await writeUnsure(deadline));
    const seenKeys = new Set<string>();
    const rejected = new Set<NewRecord>();
    const added: NewRecord[] = [];
    for (const record of records) {
      const key = keyOf(record);
      if (seenKeys.has(key)) rejected.add(record);
      else if (!writtenKeys.has(key)) added.push(record);
      seenKeys.add(key);
    }
    for (let start = 0; start < added.length; start += LARGEST_STATEMENT)
      await write(added.slice(start, start + LARGEST_STATEMENT), rejected, deadline);
    const duplicates = records.flatMap((record, position) =>
      record.kind === "decision" && rejected.has(record) ? [position] : [],
    );
    const lost = rejected.size - duplicates.length;
    return { duplicates, lost, head: sealer.head ?? GENESIS };
  }

  /** Writes an unsure batch again. @returns the keys of its records, unless it was refused */
  async function writeUnsure(deadline: number): Promise<readonly string[]> {
    const unsure = pending;
    if (unsure === null || !(await retrying(deadline, () => send(unsure)))) return [];
    return unsure.records.map(keyOf);
  }

  /** @param rejected gets decisions with a known id, and outcomes of requests that do not run */
  async function write(records: readonly NewRecord[], rejected: Set<NewRecord>, deadline: number) {
    for (let left = records; left.length > 0;) {
      const batch = { number: newest + 1, records: left };
      if (await retrying(deadline, () => send(batch))) return;
      const rows = await retrying(deadline, () => link.query(FIND_REFUSED, idsOf(batch.records)));
      // The conflicting rows were there a moment ago: which records they reject is unknown now.
      if (rows.length === 0)
        throw new StoreUnavailableError("requests ended meanwhile", { applied: "no" });
      const places = new Set(rows.map((row) => readNumber(row, "place")));
      for (const [index, record] of left.entries()) if (places.has(index + 1)) rejected.add(record);
      left = left.filter((record) => !rejected.has(record));
    }
  }

  /** Whether the batch is written; false where it was refused. */
  async function send(batch: SentBatch): Promise<boolean> {
    const [decided, ended] = idsOf(batch.records);
    const workspaces = textArray(
      batch.records.flatMap((one) => (one.kind === "decision" ? [one.workspace] : [])),
    );
    const wasUnsure = pending !== null;
    try {
      const process = await lease.take();
      pending = batch;
      const values = [process, lease.token, batch.number, decided, workspaces, ended];
      const [row] = await link.query(APPEND, [...values, encodeWritten(batch.records)]);
      if (row?.state !== "written") {
        await compare();
        throw new StoreUnavailableError(DIVERGED, { applied: "no" });
      }
      newest = batch.number;
      pending = null;
      return true;
    } catch (error) {
      const isRefused = error instanceof StatementFailure && error.code === BATCH_REJECTED;
      // The first of several attempts may be the one that was written.
      if (
        isRefused ||
        (!wasUnsure && error instanceof StoreUnavailableError && error.applied === "no")
      ) {
        pending = null;
      }
      if (isRefused) return false;
      throw error;
    }
  }

  /** Tries again after a lost connection, or a rollback in favour of another statement. */
  async function retrying<Result>(
    deadline: number,
    attempt: () => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const timeLeft = deadline - performance.now();
        const isTemporary = isRetryable(error) || (error instanceof StatementFailure && error.away);
        if (!isTemporary || timeLeft <= 0) throw error;
        await link.whenAvailable(timeLeft);
      }
    }
  }

  return {
    /** Number of the newest batch that is written. */
    get number(): number {
      return newest;
    },
    /** Why nothing is written: durable records are missing, as after a lagging failover. */
    get fault(): EvidenceFault | null {
      return found;
    },
    compare,
    /**
     * Resolves when it is on disk. @throws {StoreUnavailableError} if unknown: hand it over again
     */
    append(records: readonly NewRecord[]): Promise<Appended> {
      // One after the other: the numbers of a process's batches rise.
      const appended = previous.then(() => appendNext(records));
      previous = appended.catch(() => undefined);
      return appended;
    },
  };
}

const keyOf = ({ kind, requestId }: NewRecord) => `${kind} ${requestId}`;

/** Request ids of decisions, and of outcomes. */
function idsOf(records: readonly NewRecord[]): readonly [decided: string, ended: string] {
  const of = (kind: NewRecord["kind"]) =>
    textArray(records.flatMap((record) => (record.kind === kind ? [record.requestId] : [])));
  return [of("decision"), of("outcome")];
}

const START = `
INSERT INTO signalbox.evidence_processes (token, started_at, seen_at)
VALUES ($1, signalbox.now_ms(), signalbox.now_ms()) RETURNING id`;
// A process that was taken for dead may have written since: its requests are swept again.
const RENEW = `
UPDATE signalbox.evidence_processes SET seen_at = signalbox.now_ms(), swept = false, number = greatest(number, $3)
WHERE id = $1 AND token = $2`;
const END = `
UPDATE signalbox.evidence_processes SET seen_at = signalbox.now_ms(), ended_at = signalbox.now_ms(), swept = false,
  number = greatest(number, $3)
WHERE id = $1 AND token = $2`;

type ProcessLease = ReturnType<typeof processLease>;

/**
 * The row by which other replicas distinguish a decision that is still being answered from one
 * whose process died. Taken with the first decision, so that a command that only reads leaves no
 * trace.
 */
export function processLease(link: PostgresLink) {
  const token = randomUUID();
  let processId: number | null = null;

  return {
    token,
    /** This process's number; `null` while it has none. */
    get id(): number | null {
      return processId;
    },
    /** This process's number, which it gets now where it had none. Not called twice at a time. */
    async take(): Promise<number> {
      processId ??= readNumber((await link.query(START, [token]))[0], "id");
      return processId;
    },
    /** @param number of the newest batch that this process knows as written */
    async renew(number: number): Promise<void> {
      if (processId !== null) await link.query(RENEW, [processId, token, number]);
    },
    /** @param number likewise */
    async end(number: number): Promise<void> {
      if (processId !== null) await link.query(END, [processId, token, number]);
    },
  };
}
