import { describeSafely } from "../../../compile/authored/literal-secrets.ts";
import type { Spot } from "../source/fields.ts";

/** What became of a value of the source. */
export const OUTCOMES = ["carried", "changed", "left_out", "decide"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export function isOutcome(value: string): value is Outcome {
  return OUTCOMES.some((outcome) => outcome === value);
}

export interface ReportEntry {
  readonly outcome: Outcome;
  /** Where in the source: `model_list[0].litellm_params.rpm`. */
  readonly source: string;
  readonly file: string;
  readonly line: number;
  /** What it became, or why it did not; never a value of the source that could be a secret. */
  readonly text: string;
}

/** A secret that routes.yaml refers to. */
export interface SecretEntry {
  readonly variable: string;
  /** Lines of the source that hold the secret itself; none where it names a variable. */
  readonly literals: readonly { readonly file: string; readonly line: number }[];
}

/** Collects what became of each value. */
export class ImportReport {
  readonly #file: string;
  readonly #entries: ReportEntry[] = [];
  readonly #seen = new Set<string>();

  /** @param file of values whose position names none. */
  constructor(file: string) {
    this.#file = file;
  }

  add(outcome: Outcome, { path, at }: Spot, text: string): void {
    const entry = { outcome, source: describeSafely(path), file: at.file ?? this.#file, line: at.line, text };
    // An alias shows one value many times.
    const key = JSON.stringify(entry);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#entries.push(entry);
  }

  /** In the order of the source. */
  list(): readonly ReportEntry[] {
    const order = new Map(OUTCOMES.map((outcome, index) => [outcome, index]));
    return this.#entries.toSorted(
      (left, right) =>
        (order.get(left.outcome) ?? 0) - (order.get(right.outcome) ?? 0) ||
        Number(left.file !== this.#file) - Number(right.file !== this.#file) ||
        left.file.localeCompare(right.file, "en") ||
        left.line - right.line,
    );
  }
}
