import { chainHash, GENESIS, type ChainLink } from "../../src/evidence/chain.ts";
import type { EvidenceLog, LogRow } from "../../src/evidence/evidence-store.ts";

/**
 * All rows of the log; throws where they are not chained to `from`, or to the beginning, without a
 * gap.
 */
export async function readVerifiedLog(
  log: EvidenceLog,
  from: ChainLink = GENESIS,
): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  let { position, hash } = from;
  for (;;) {
    const page = await log.log({ after: position, limit: 10_000 });
    for (const row of page) {
      if (row.position !== position + 1)
        throw new Error(`position ${row.position} follows ${position}`);
      if (row.hash !== chainHash(hash, row.position, row.kind, row.record))
        throw new Error(`hash of ${row.position}`);
      ({ position, hash } = row);
      rows.push(row);
    }
    if (page.length === 0) break;
  }
  const head = await log.head();
  if (head.position !== position || head.hash !== hash)
    throw new Error("the head is not the newest row");
  return rows;
}

export function requestIds(rows: readonly LogRow[], kind: LogRow["kind"]): readonly string[] {
  return rows.flatMap((row) => {
    const record = JSON.parse(row.record) as { readonly requestId: string };
    return row.kind === kind ? [record.requestId] : [];
  });
}
