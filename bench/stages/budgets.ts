/**
 * What one stage of a small chat may cost the main thread. Figures of `docs/how-we-know.md`; the
 * table there is printed by this benchmark.
 */
export interface Budget {
  /** Microseconds of CPU a request. */
  readonly microseconds: number;
  /** Kilobytes allocated a request. */
  readonly kilobytes: number;
}

export const BUDGETS = {
  read: { microseconds: 7, kilobytes: 9 },
  authenticate: { microseconds: 1, kilobytes: 1 },
  validate: { microseconds: 1, kilobytes: 1 },
  parse: { microseconds: 1, kilobytes: 2 },
  decide: { microseconds: 1, kilobytes: 1 },
  limits: { microseconds: 2, kilobytes: 4 },
  record: { microseconds: 3, kilobytes: 6 },
  dispatch: { microseconds: 9, kilobytes: 17 },
  answer: { microseconds: 8, kilobytes: 10 },
} as const satisfies Readonly<Record<string, Budget>>;

export type StageName = keyof typeof BUDGETS;

/** In the order of a request. */
export const STAGES = [
  "read",
  "authenticate",
  "validate",
  "parse",
  "decide",
  "limits",
  "record",
  "dispatch",
  "answer",
] as const satisfies readonly StageName[];
