import { compareDiagnostics, type Diagnostic } from "../../canon/diagnostic.ts";
import { type ConfigNode, keyPosition, type Path, type Position, valuePosition } from "../authored/tree.ts";
import { ROUTE_CODES, type RouteCode } from "./codes.ts";

/** Collects what is wrong with one file, so that its author learns of everything at once. */
export class Findings {
  readonly #file: string;
  readonly #found = new Map<string, Diagnostic<RouteCode>>();
  readonly #places = new Set<string>();

  constructor(file: string) {
    this.#file = file;
  }

  /** The same finding at the same place counts once: an alias can show one mistake many times. */
  add(code: RouteCode, at: Position, message: string, hint = ""): void {
    const place = `${code}:${at.line}:${at.column}`;
    const key = `${place}:${message}`;
    this.#places.add(place);
    const { severity } = ROUTE_CODES[code];
    this.#found.set(key, {
      code,
      severity,
      file: this.#file,
      line: at.line,
      column: at.column,
      message,
      hint,
    });
  }

  has(code: RouteCode, at: Position): boolean {
    return this.#places.has(`${code}:${at.line}:${at.column}`);
  }

  get failed(): boolean {
    return [...this.#found.values()].some((diagnostic) => diagnostic.severity === "error");
  }

  /** Sorted as every report is. */
  list(): readonly Diagnostic<RouteCode>[] {
    return [...this.#found.values()].toSorted(compareDiagnostics);
  }

  /** Findings addressed by path instead of position. */
  on(tree: ConfigNode): Report {
    return {
      value: (code, path, message, hint) => this.add(code, valuePosition(tree, path), message, hint),
      key: (code, path, message, hint) => this.add(code, keyPosition(tree, path), message, hint),
    };
  }
}

type ReportAt = (code: RouteCode, path: Path, message: string, hint?: string) => void;

/** Points at the value of a path, or at its key where the row as a whole is meant. */
export interface Report {
  readonly value: ReportAt;
  readonly key: ReportAt;
}
