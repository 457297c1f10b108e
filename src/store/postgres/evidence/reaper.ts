import { asIdentifier } from "../../../evidence/record.ts";
import { unknownOutcome } from "../../stored-evidence.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readText } from "../../rows/row.ts";
import type { EvidenceWriter } from "./writer.ts";

/** Decisions ended at a time. */
const BATCH = 200;

const ABANDONED = `
SELECT running.request_id, holder.seen_at
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
    if (rows.length > 0) await writer.append([], rows.flatMap(toOutcome));
    if (rows.length < BATCH) return;
  }
}

function toOutcome(row: Row): readonly (string | number)[] {
  const [requestId, at] = [readText(row, "request_id"), readNumber(row, "seen_at")];
  return [at, requestId, JSON.stringify(unknownOutcome(asIdentifier(requestId), at))];
}
