import type { DecisionRecord, OutcomeRecord } from "./record.ts";

/**
 * Members of the record of a request without a shape and a plan: refused before a decision,
 * answered by the router, or summed up.
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

/** The outcome of a request that reached no provider, or whose outcome is unknown. */
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
