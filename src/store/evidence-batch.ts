/**
 * Decisions of one batch, {@link DECISION_FIELDS} values each, one after another: milliseconds,
 * request id, workspace, the record's JSON text. Flat, because copying a nested list between
 * threads costs about twice as much.
 */
export type DecisionFields = (string | number | null)[];
export const DECISION_FIELDS = 4;

/**
 * Outcomes of one batch, {@link OUTCOME_FIELDS} values each: milliseconds, request id, the record's
 * JSON text.
 */
export type OutcomeFields = (string | number)[];
export const OUTCOME_FIELDS = 3;
