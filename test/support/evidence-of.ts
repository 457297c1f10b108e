import type { DecisionRecord } from "../../src/evidence/record.ts";
import type { Runtime } from "../../src/http/runtime.ts";

/** Evidence of a runtime whose decisions are on disk when a promise resolves. */
export function evidenceOf(
  decide: (record: DecisionRecord) => Promise<void>,
  settle: Runtime["evidence"]["settle"] = () => {},
): Runtime["evidence"] {
  return {
    begin(record, settled) {
      decide(record).then(
        () => settled(null),
        (error: unknown) => settled(error instanceof Error ? error : new Error(String(error))),
      );
      return { needed: () => {} };
    },
    settle,
  };
}
