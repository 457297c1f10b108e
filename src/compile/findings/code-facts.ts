import type { Severity } from "../../canon/diagnostic.ts";

/** What a report says of a code besides the finding itself. */
export interface CodeFacts {
  readonly severity: Severity;
  /** What has been found, for a reader of the code in a report. */
  readonly meaning: string;
  readonly fix: string;
}

export const error = (meaning: string, fix: string) =>
  ({ severity: "error", meaning, fix }) as const satisfies CodeFacts;
export const warning = (meaning: string, fix: string) =>
  ({ severity: "warning", meaning, fix }) as const satisfies CodeFacts;
