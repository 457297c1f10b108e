import type { DecisionRecord } from "../../../src/evidence/record.ts";
import type { ExampleLog, ExampleLogRow } from "../../../src/simulate/evidence/find-examples.ts";

/**
 * An evidence log without a store; every decision's outcome follows it. @param pruned rows up to
 * this position are gone.
 */
export function memoryEvidence(
  decisions: readonly DecisionRecord[],
  pruned = 0,
): ExampleLog & { readonly reads: { after: number; limit: number }[] } {
  const rows = decisions.flatMap((decision, index): readonly ExampleLogRow[] => {
    return [
      { position: 2 * index + 1, kind: "decision", record: JSON.stringify(decision) },
      { position: 2 * index + 2, kind: "outcome", record: "{}" },
    ];
  });
  const reads: { after: number; limit: number }[] = [];
  return {
    reads,
    head: () => Promise.resolve({ position: rows.length }),
    log: ({ after, limit }) => {
      reads.push({ after, limit });
      const left = rows.filter(({ position }) => position > Math.max(after, pruned));
      return Promise.resolve(left.slice(0, limit));
    },
  };
}
