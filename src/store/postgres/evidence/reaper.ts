import { readEntry, unknownOutcome } from "../../stored-evidence.ts";
import { OUTCOME_FIELDS } from "../../evidence-batch.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readText } from "../row.ts";
import type { EvidenceWriter } from "./writer.ts";

/** Decisions ended at a time. */
const BATCH = 200;

const ABANDONED = `
SELECT running.position, holder.seen_at, (
    SELECT decision.record FROM signalbox.evidence_log AS decision WHERE decision.position = running.position) AS record
FROM signalbox.evidence_open AS running
JOIN signalbox.evidence_processes AS holder ON holder.id = running.process
WHERE signalbox.is_gone(holder) ORDER BY running.position LIMIT ${BATCH}`;

/**
 * Gives the decisions of processes that are gone their outcome `unknown`, so that the log itself says it. Two replicas
 * may do so at once, or the process come back: the first outcome stays.
 *
 * @throws {StoreUnavailableError}
 */
export async function reapAbandoned(link: PostgresLink, writer: EvidenceWriter): Promise<void> {
  for (;;) {
    const rows = await link.query(ABANDONED);
    const outcomes = rows.flatMap(toOutcome);
    if (outcomes.length > 0) await writer.append([], outcomes);
    // A page with a record that this version cannot read would come again for ever.
    if (rows.length < BATCH || outcomes.length < rows.length * OUTCOME_FIELDS) return;
  }
}

/** Nothing for a record that this version cannot read: the version that can will end it. */
function toOutcome(row: Row): readonly string[] {
  try {
    const { decision } = readEntry(readNumber(row, "position"), readText(row, "record"), null, null);
    return [decision.requestId, JSON.stringify(unknownOutcome(decision, readNumber(row, "seen_at")))];
  } catch {
    return [];
  }
}
