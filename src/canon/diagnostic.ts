/** A file handed to the compiler. The path is for messages only; no result depends on it. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export type Severity = "error" | "warning";

/** What a report says of a code besides the finding itself. */
export interface CodeFacts {
  readonly severity: Severity;
  /** What has been found, for a reader of the code in a report. */
  readonly meaning: string;
  /** The hint of a finding that has no better one of its own. */
  readonly fix: string;
}

export const error = (meaning: string, fix: string) =>
  ({ severity: "error", meaning, fix }) as const satisfies CodeFacts;
export const warning = (meaning: string, fix: string) =>
  ({ severity: "warning", meaning, fix }) as const satisfies CodeFacts;

/** One finding about a source. Collected, sorted, printed together; never thrown one at a time. */
export interface Diagnostic<Code extends string = string> {
  readonly code: Code;
  readonly severity: Severity;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /**
   * One sentence that names the field and what is wrong with it. Never quotes a value that could be
   * a secret.
   */
  readonly message: string;
  /** What to do about it; empty where nothing useful can be said. */
  readonly hint: string;
}

/**
 * By file, line, column, code, message: the order of every report.
 *
 * @example findings.toSorted(compareDiagnostics)
 */
export function compareDiagnostics(left: Diagnostic, right: Diagnostic): number {
  return (
    compareText(left.file, right.file) ||
    left.line - right.line ||
    left.column - right.column ||
    compareText(left.code, right.code) ||
    compareText(left.message, right.message)
  );
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
