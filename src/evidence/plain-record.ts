import type { DecisionRecord, OutcomeRecord } from "./record.ts";

/**
 * What the record of a request says that had no shape and came to no plan: refused before a
 * decision, answered by the router itself, or one of a sum.
 */
export const NO_DECISION = {
  plan: [],
  wouldDeny: [],
  shadows: [],
  obligations: [],
  needs: [],
  features: [],
  stream: false,
  context: "unspecified",
  maxOutput: "unspecified",
  reasoningEffort: "unspecified",
} as const satisfies Partial<DecisionRecord>;

/** How a request ended that reached no provider, or of which that is all that is known. */
export const EMPTY_OUTCOME = {
  finish: null,
  attempts: [],
  stripped: [],
  losses: [],
  edits: [],
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  reasoningTokens: null,
  firstByte: null,
} as const satisfies Partial<OutcomeRecord>;
