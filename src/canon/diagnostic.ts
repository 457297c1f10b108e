import { compareText } from "./json.ts";

/** Input file of the compiler. The path is for messages only; no result depends on it. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export type Severity = "error" | "warning";

/** Facts of a code for reports. */
export interface CodeFacts {
  readonly severity: Severity;
  /** Explanation of the code. */
  readonly meaning: string;
  /** Default hint of findings. */
  readonly fix: string;
}

export const error = (meaning: string, fix: string) =>
  ({ severity: "error", meaning, fix }) as const satisfies CodeFacts;
export const warning = (meaning: string, fix: string) =>
  ({ severity: "warning", meaning, fix }) as const satisfies CodeFacts;

/** One finding about a source. Findings are collected, sorted and printed together, not thrown. */
export interface Diagnostic<Code extends string = string> {
  readonly code: Code;
  readonly severity: Severity;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /**
   * One sentence that names the field and the fault. Never quotes a value that could be a secret.
   */
  readonly message: string;
  /** How to fix it; empty if unknown. */
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
