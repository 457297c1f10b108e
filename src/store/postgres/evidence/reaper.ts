import { outcomeOf, unknownOutcome } from "../../stored-evidence.ts";
import type { PostgresLink } from "../link.ts";
import { abandonedRequests } from "./batch-rows.ts";
import type { EvidenceWriter } from "./writer.ts";

/** Decisions ended at a time. */
const BATCH = 200;

/** Skips processes whose requests have all ended, so that the search is free while none dies. */
const SWEEP = `
UPDATE signalbox.evidence_processes AS process SET swept = true
WHERE NOT process.swept AND signalbox.is_gone(process) AND NOT EXISTS (
  SELECT FROM signalbox.evidence_requests AS request WHERE request.process = process.id AND request.ended_at IS NULL)`;

/**
 * Writes the outcome `unknown` for decisions of dead processes. Two replicas may do so at once, or
 * the process may come back: the first outcome stays.
 *
 * @throws {StoreUnavailableError}
 */
export async function reapAbandoned(link: PostgresLink, writer: EvidenceWriter): Promise<void> {
  const abandoned = await abandonedRequests(link);
  const outcomes = Array.from(abandoned, ([requestId, at]) =>
    outcomeOf(unknownOutcome(requestId, at)),
  );
  for (let start = 0; start < outcomes.length; start += BATCH)
    await writer.append(outcomes.slice(start, start + BATCH));
  await link.query(SWEEP);
}

/** How long a request id is kept after the request has ended, milliseconds. */
const KEPT = 60_000;

/** Only the oldest running process does it. */
const FORGET = `
DELETE FROM signalbox.evidence_requests WHERE ended_at < signalbox.now_ms() - ${KEPT} AND $1 = (
  SELECT min(holder.id) FROM signalbox.evidence_processes AS holder WHERE NOT signalbox.is_gone(holder))`;

/**
 * Forgets requests that ended a minute ago. @param process number of this process. @throws
 * {StoreUnavailableError}
 */
export async function forgetEnded(link: PostgresLink, process: number): Promise<void> {
  await link.query(FORGET, [process]);
}
