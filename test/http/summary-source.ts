import type { SummarySource } from "../../src/http/control/governance-summary.ts";

/** Nothing is limited, no key exists, and no record is written. */
export const NOTHING_COUNTED: Pick<SummarySource, "limitUsage" | "currentKeys" | "head"> = {
  limitUsage: () => Promise.resolve({ counters: [], slots: [] }),
  currentKeys: () => [],
  head: () => null,
};
