import { GENESIS, type ChainLink, type ChainRow } from "../../evidence/chain.ts";
import type { EvidenceAnchor, EvidenceLog } from "../../evidence/evidence-log.ts";

const PAGE = 2_000;

/** The log's rows after `after`, page by page. */
export async function* walkLog(log: EvidenceLog, after: number): AsyncGenerator<ChainRow, void> {
  let position = after;
  for (;;) {
    const rows = await log.log({ after: position, limit: PAGE });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    position = last.position;
  }
}

interface LogStart {
  /** Where the log begins: its very beginning, or an anchor that what was pruned ended at. */
  readonly from: ChainLink;
  readonly anchors: readonly EvidenceAnchor[];
}

/** Where the log begins now. Where its first rows are gone without an anchor, the newest anchor before them. */
export async function startOf(log: EvidenceLog): Promise<LogStart> {
  const [first] = await log.log({ after: 0, limit: 1 });
  const anchors = await log.anchors();
  const before = first === undefined ? Number.POSITIVE_INFINITY : first.position;
  return { from: anchors.findLast(({ position }) => position < before) ?? GENESIS, anchors };
}
