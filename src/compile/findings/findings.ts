import { compareDiagnostics, type Diagnostic, type Severity } from "../../canon/diagnostic.ts";
import {
  type ConfigNode,
  keyPosition,
  type Path,
  type Position,
  valuePosition,
} from "../authored/tree.ts";
import type { CodeFacts } from "../../canon/diagnostic.ts";
import { ROUTE_CODES, type RouteCode, type TextCode } from "./codes.ts";

/** Collects findings about the text of any file, of its own codes too. */
export interface TextFindings {
  add(code: TextCode, at: Position, message: string, hint?: string): void;
  has(code: TextCode, at: Position): boolean;
}

/** Collects all faults of a file, so that its author can fix them in one go. */
export class FindingsOf<Code extends string> {
  readonly #file: string;
  readonly #codes: Readonly<Record<Code, CodeFacts>>;
  readonly #found = new Map<string, Diagnostic<Code>>();
  readonly #locations = new Set<string>();

  constructor(file: string, codes: Readonly<Record<Code, CodeFacts>>) {
    this.#file = file;
    this.#codes = codes;
  }

  /**
   * The same finding at the same location counts once: an alias can show one mistake many times.
   *
   * @param hint a fix that is more precise than the code's own; empty for none.
   * @param severity where it depends on what else is written; the code's own otherwise.
   */
  add(
    code: Code,
    at: Position,
    message: string,
    hint: string = hintOf(this.#codes[code]),
    severity: Severity = this.#codes[code].severity,
  ): void {
    const location = locationOf(code, at);
    const key = `${location}:${message}`;
    this.#locations.add(location);
    this.#found.set(key, {
      code,
      severity,
      file: at.file ?? this.#file,
      line: at.line,
      column: at.column,
      message,
      hint,
    });
  }

  has(code: Code, at: Position): boolean {
    return this.#locations.has(locationOf(code, at));
  }

  get failed(): boolean {
    return [...this.#found.values()].some((diagnostic) => diagnostic.severity === "error");
  }

  /** Sorted as every report is. */
  list(): readonly Diagnostic<Code>[] {
    return [...this.#found.values()].toSorted(compareDiagnostics);
  }

  /** Findings addressed by path instead of position. */
  on(tree: ConfigNode): ReportOf<Code> {
    return {
      value: (code, path, ...rest) => this.add(code, valuePosition(tree, path), ...rest),
      key: (code, path, ...rest) => this.add(code, keyPosition(tree, path), ...rest),
    };
  }
}

/** The fix of a code as hints are written: without a capital and the full stop. */
function hintOf({ fix }: CodeFacts) {
  return `${fix.charAt(0).toLowerCase()}${fix.slice(1).replace(/\.$/, "")}`;
}

function locationOf(code: string, { file = "", line, column }: Position) {
  return `${code}:${line}:${column}:${file}`;
}

type ReportAt<Code> = (
  code: Code,
  path: Path,
  message: string,
  hint?: string,
  severity?: Severity,
) => void;

/** Points at the value of a path, or at its key where the row as a whole is meant. */
export interface ReportOf<Code> {
  readonly value: ReportAt<Code>;
  readonly key: ReportAt<Code>;
}

/** Findings of routes.yaml. */
export class Findings extends FindingsOf<RouteCode> {
  constructor(file: string) {
    super(file, ROUTE_CODES);
  }
}

export type Report = ReportOf<RouteCode>;
