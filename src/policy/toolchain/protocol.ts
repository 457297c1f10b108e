import type { Source } from "../../canon/diagnostic.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";

/**
 * The messages between this process and `tools/rego/*.go`; member names are the ones in its JSON.
 */

export type Command = "build" | "check" | "fmt" | "test";

/** A request to a worker. */
export interface Run {
  readonly command: Command;
  /** JSON. */
  readonly request: string;
}

/** A worker's answer; `error` is `null` where the program ended with an error of its own. */
export type RunResult =
  | { readonly ok: true; readonly response: string }
  | {
      readonly ok: false;
      readonly error: { readonly code: ToolchainErrorCode; readonly message: string } | null;
    };

/** Line and column from 1; 0 where OPA gives none. */
export interface Position {
  readonly row: number;
  readonly col: number;
}

export interface Failure extends Position {
  /** OPA's code, such as `rego_type_error`. */
  readonly code: string;
  readonly message: string;
  readonly details?: readonly string[];
  readonly file: string;
}

export interface CheckRequest {
  readonly modules: readonly Source[];
  /** Paths of modules that are compiled together; each group on its own. */
  readonly units: readonly (readonly string[])[];
  readonly input_schema: JsonObject | null;
}

export interface CheckResponse {
  readonly errors: readonly Failure[];
  readonly modules: readonly ModuleFacts[];
}

export interface ModuleFacts {
  readonly path: string;
  /** Names after `data`. */
  readonly package: readonly string[];
  readonly package_at: Position;
  readonly annotations: readonly AnnotationFacts[];
  readonly rules: readonly RuleFacts[];
  readonly references: readonly ReferenceFacts[];
  /** Calls of built-ins that are not allowed. */
  readonly builtins: readonly (Position & {
    readonly name: string;
    readonly nondeterministic: boolean;
  })[];
  readonly withs: readonly Position[];
  /** Every string of the module, or that it could get from names of members; sorted. */
  readonly strings: readonly string[];
  /**
   * Constructs by which it sees more of strings than whether they are equal; sorted.
   * `tools/rego/words.go` has the argument.
   */
  readonly inspects: readonly string[];
  /** Texts that it searches for in other strings; sorted (`tools/rego/searches.go`). */
  readonly searches: readonly string[];
  /**
   * Dotted paths of input and data that a policy depends on with everything that it calls, sorted;
   * a path covers everything below it. Below a list of strings stands the one that is searched for,
   * where nothing else of the list is read. `null` for libraries and tests.
   */
  readonly reads: readonly string[] | null;
  /** Whether a policy may compare two strings of input and data with each other. */
  readonly relates: boolean;
  /**
   * The numbers that it compares hours of `input.local_time` with, sorted; `null` where it uses an
   * hour in another way.
   */
  readonly hours: readonly number[] | null;
  /** Comparisons of input and data with a string of the module, sorted by position. */
  readonly comparisons: readonly ComparisonFacts[];
  /** Comments `# signalbox: …`, with the text after the colon. */
  readonly directives: readonly (Position & { readonly text: string })[];
}

/** A METADATA block; `row` is the line of that keyword, `end_row` the last line of the block. */
export interface AnnotationFacts extends Position {
  readonly end_row: number;
  readonly scope: string;
  readonly title: string;
  readonly custom: JsonObject | null;
}

export interface RuleFacts extends Position {
  /**
   * Names of the head, such as `pass`, `region_approved`; `null` for one that is known at run time
   * only.
   */
  readonly path: readonly (string | null)[];
  readonly kind: "value" | "set" | "function";
  readonly default: boolean;
  /** Results of the branches whose body can hold; empty for a rule that is never true. */
  readonly results: readonly (Position & {
    readonly constant: boolean;
    readonly value: JsonValue;
  })[];
}

export interface ReferenceFacts extends Position {
  readonly root: "input" | "data";
  readonly path: readonly (string | null)[];
}

/** A string of the module, and everything of input and data that it is compared with. */
interface ComparisonFacts extends Position {
  readonly value: string;
  readonly against: readonly ComparedPart[];
}

export interface ComparedPart {
  readonly root: "input" | "data";
  /** Names after the root; `null` for one that is known at run time only. */
  readonly path: readonly (string | null)[];
  /** The names of its members, not their values. */
  readonly key: boolean;
}

/**
 * One content of one policy with its libraries, moved to `data.signalbox.unit.<name>` so that
 * several can exist side by side.
 */
interface BuildUnit {
  readonly name: string;
  readonly modules: readonly Source[];
}

export interface BuildRequest {
  readonly units: readonly BuildUnit[];
  /** Taken as they are. */
  readonly modules: readonly Source[];
  /** Rules, as paths: `signalbox/decide/u0`. */
  readonly entrypoints: readonly string[];
}

export interface BuildResponse {
  readonly errors: readonly Failure[];
  /** The module in base64; `null` when there are errors. */
  readonly wasm: string | null;
}

export interface TestRequest {
  readonly modules: readonly Source[];
}

export interface TestResponse {
  readonly errors: readonly Failure[];
  readonly results: readonly TestResult[];
  readonly coverage: readonly FileCoverage[];
}

export interface TestResult extends Position {
  readonly file: string;
  readonly package: string;
  readonly name: string;
  readonly outcome: "pass" | "fail" | "error" | "skip";
  /** Failing cases of a test over many. */
  readonly cases: readonly string[];
  /** The output of `print`. */
  readonly output: string;
  readonly error: Failure | null;
  /** Nanoseconds. */
  readonly duration: number;
}

export interface FileCoverage {
  readonly path: string;
  readonly covered_lines: number;
  readonly missed_lines: number;
  /** Lines that no test has reached, ascending. */
  readonly missed: readonly number[];
}

export interface FormatRequest {
  readonly modules: readonly Source[];
}

export interface FormatResponse {
  readonly errors: readonly Failure[];
  readonly modules: readonly Source[];
}

/**
 * Why the Rego toolchain cannot run. Faults in a policy are findings, not errors of the toolchain.
 */
type ToolchainErrorCode =
  | "ARTEFACT_MISSING"
  | "ARTEFACT_DAMAGED"
  | "TOOLCHAIN_TIMEOUT"
  | "TOOLCHAIN_FAILED";

/**
 * The message names files of the installation and what to do; it never holds anything of a policy.
 */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
  readonly code: ToolchainErrorCode;
  constructor(code: ToolchainErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
