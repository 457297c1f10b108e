/** What one stage of a small chat may cost the main thread. Figures of `docs/benchmarks.md`; the table there is printed by this benchmark. */
export interface Budget {
  /** Microseconds of CPU a request. */
  readonly microseconds: number;
  /** Kilobytes allocated a request. */
  readonly kilobytes: number;
}

export const BUDGETS = {
  read: { microseconds: 9, kilobytes: 6 },
  authenticate: { microseconds: 3, kilobytes: 1 },
  validate: { microseconds: 3, kilobytes: 1 },
  parse: { microseconds: 3, kilobytes: 3 },
  decide: { microseconds: 1, kilobytes: 1 },
  limits: { microseconds: 3, kilobytes: 3 },
  record: { microseconds: 8, kilobytes: 7 },
  dispatch: { microseconds: 12, kilobytes: 12 },
  answer: { microseconds: 12, kilobytes: 9 },
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
