import { fileWith, SIDE, tableWith } from "../../simulate/assertions/samples.ts";

/**
 * A file for each code that only assertions have, or that reads otherwise there; a test sees that
 * each raises its code.
 */
export const ASSERTION_SAMPLES: Readonly<Record<string, string>> = {
  UNKNOWN_KEY: fileWith("kind: no_new_access\nfro: { workspaces: [demo] }"),
  DUPLICATE_ID:
    "version: 1\nassertions:\n  - { kind: equivalent, id: same, title: T }\n  - { kind: equivalent, id: same, title: T }\n",
  ASSERTION_UNKNOWN_WORD: fileWith("kind: no_new_access\nfor: { workspaces: [acme-prd] }"),
  ASSERTION_WORD_GONE: fileWith("kind: always_routable\nfor: { routes: [moderation-of-old] }"),
  ASSERTION_DATE_INVALID: fileWith(
    "kind: equivalent\nwaiver: { until: 2026-02-29, reason: R, owner: O }",
  ),
  ASSERTION_CONTRADICTION: fileWith(
    "kind: implies\nif: { outcome: deny }\nthen: { outcome: deny, primary: { models: [gpt-5] } }",
  ),
};

/** Base, which has a route that head has not: what `ASSERTION_WORD_GONE` is about. */
export const BASE_OF_SAMPLES = {
  ...SIDE,
  table: tableWith([
    "  rerank:\n    title:",
    "  moderation-of-old:\n    primary: moderation-us\n\n  rerank:\n    title:",
  ]),
};
