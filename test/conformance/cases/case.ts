import type { JsonValue } from "../../../src/canon/json.ts";

/** What the case says should come out. */
export type Wanted =
  /**
   * The bindings of the query's variables, one object a solution; none where the query is
   * undefined.
   */
  | {
      readonly kind: "bindings";
      readonly bindings: readonly Bindings[];
      readonly variables: readonly string[];
      /** A binding that is a list stands for a set: its order means nothing. */
      readonly asSets: boolean;
    }
  | { readonly kind: "defined"; readonly defined: boolean }
  /**
   * Evaluation must fail, or the modules be refused. The code is OPA's, such as
   * `eval_conflict_error`.
   */
  | { readonly kind: "error"; readonly code: string };

/** JSON, except that an integer beyond what a double holds exactly is a bigint. */
export type Bindings = Readonly<Record<string, unknown>>;

export type Input =
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly value: JsonValue }
  /** Rego that is no JSON, such as a set: nothing that a policy could ever get as input. */
  | { readonly kind: "inexpressible" };

/** One of OPA's compliance cases. */
export interface ConformanceCase {
  /** OPA's name of the case. Several cases may share one. */
  readonly note: string;
  /** The file it came from, for messages. */
  readonly file: string;
  readonly query: string;
  readonly modules: readonly string[];
  readonly data: JsonValue;
  readonly input: Input;
  readonly wanted: Wanted;
}

/**
 * A case as the files hold it (OPA, v1/test/cases/cases.go), read with {@link Bindings}' numbers.
 * Members that say nothing about the result are not listed.
 */
export interface PublishedCase {
  readonly note: string;
  readonly query: string;
  readonly file?: string;
  readonly modules?: readonly string[] | null;
  readonly data?: unknown;
  readonly input?: unknown;
  readonly input_term?: string;
  readonly want_defined?: boolean;
  readonly want_result?: readonly Bindings[];
  readonly want_error_code?: string;
  readonly want_error?: string;
  readonly sort_bindings?: boolean;
  readonly strict_error?: boolean;
}

const VARIABLE = /^[A-Za-z_]\w*$/;

/** @returns the case, or a sentence that says why it makes no sense. */
export function toCase(published: PublishedCase, file: string): ConformanceCase | string {
  const wanted = wantedBy(published);
  if (typeof wanted === "string") return wanted;
  return {
    note: published.note,
    file: published.file ?? file,
    query: published.query.trim(),
    modules: published.modules ?? [],
    data: toJson(published.data ?? {}),
    input: inputOf(published),
    wanted,
  };
}

/** The order of precedence is OPA's own. */
function wantedBy(published: PublishedCase): Wanted | string {
  const { want_defined, want_result, want_error_code, want_error, strict_error } = published;
  if (want_defined !== undefined) return { kind: "defined", defined: want_defined };
  if (want_result !== undefined) {
    const variables = Object.keys(want_result[0] ?? {});
    if (!variables.every((name) => VARIABLE.test(name)))
      return "want_result must bind variables only: the solutions are collected by these names";
    return {
      kind: "bindings",
      bindings: want_result,
      variables,
      asSets: published.sort_bindings === true,
    };
  }
  if (want_error_code === undefined && want_error === undefined)
    return "one of want_defined, want_result, want_error_code and want_error must be there";
  // WASM has no strict mode: a failing built-in leaves its expression undefined.
  if (strict_error === true) return { kind: "defined", defined: false };
  if (want_error_code === undefined)
    return "want_error_code must be there: texts of errors are not compared";
  return { kind: "error", code: want_error_code };
}

function inputOf({ input, input_term }: PublishedCase): Input {
  if (input_term === undefined)
    return input === undefined ? { kind: "none" } : { kind: "value", value: toJson(input) };
  try {
    return { kind: "value", value: JSON.parse(input_term) };
  } catch {
    return { kind: "inexpressible" };
  }
}

/** What goes in has the numbers that Signalbox has: doubles. */
function toJson(value: unknown): JsonValue {
  return JSON.parse(
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === "bigint" ? Number(member) : member,
    ),
  );
}
