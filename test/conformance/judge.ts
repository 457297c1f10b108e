import { Evaluator, serialise } from "../../src/policy/evaluator.ts";
import {
  ToolchainError,
  type BuildRequest,
  type BuildResponse,
  type Failure,
} from "../../src/policy/toolchain/protocol.ts";
import type { ConformanceCase, Input } from "./cases/case.ts";
import { sameBindings } from "./compare.ts";
import { BINDINGS } from "./question.ts";
import { refusedBuiltin } from "./refused-builtins.ts";

/** What came out of one case. */
export type Outcome =
  | { readonly kind: "right" }
  /** `detail`: what came out instead. */
  | { readonly kind: "wrong"; readonly detail: string }
  /** The case needs built-ins that policies do not have: at least these. */
  | { readonly kind: "refused"; readonly builtins: readonly string[] }
  | { readonly kind: "not_compiling"; readonly detail: string }
  /** `detail`: what of the case has no counterpart here. */
  | { readonly kind: "not_expressible"; readonly detail: string };

export type OutcomeKind = Outcome["kind"];

/**
 * Compares what the compiled case gives with what it should give.
 *
 * @param question what `response` is the answer to.
 */
export async function judge(
  testCase: ConformanceCase,
  question: BuildRequest,
  response: BuildResponse,
): Promise<Outcome> {
  const { input, wanted } = testCase;
  if (response.wasm === null) return ofFailures(testCase, question, response.errors);
  if (input.kind === "inexpressible")
    return { kind: "not_expressible", detail: "the input is no JSON" };
  const wasm = Buffer.from(response.wasm, "base64");
  const evaluator = await Evaluator.load(wasm, testCase.data, question.entrypoints);
  const bytes = inputBytes(input);
  let got: unknown;
  try {
    got = evaluator.evaluate(bytes, BINDINGS);
  } catch (error) {
    const thrown = String(error);
    if (wanted.kind === "error" && isErrorOf(wanted.code, thrown)) return { kind: "right" };
    return { kind: "wrong", detail: `failed: ${thrown}` };
  }
  const sets = (): readonly unknown[] =>
    question.entrypoints
      .filter((entrypoint) => entrypoint !== BINDINGS)
      .flatMap((entrypoint) => evaluator.evaluate(bytes, entrypoint));
  return isWanted(testCase, got, sets)
    ? { kind: "right" }
    : { kind: "wrong", detail: JSON.stringify(got) };
}

/** No bytes are no input, which the engine distinguishes from every JSON value. */
function inputBytes(input: Exclude<Input, { kind: "inexpressible" }>): ArrayBuffer {
  return input.kind === "none" ? new ArrayBuffer(0) : serialise(input.value);
}

function isWanted(
  { wanted }: ConformanceCase,
  got: unknown,
  sets: () => readonly unknown[],
): boolean {
  switch (wanted.kind) {
    case "bindings":
      return sameBindings(wanted, got, sets);
    case "defined":
      return Array.isArray(got) && got.length > 0 === wanted.defined;
    case "error":
      return false;
  }
}

function ofFailures(
  { wanted }: ConformanceCase,
  { modules }: BuildRequest,
  failures: readonly Failure[],
): Outcome {
  const names = failures
    .map((failure) => refusedBuiltin(failure, modules))
    .filter((name) => name !== null);
  if (names.length > 0) return { kind: "refused", builtins: [...new Set(names)].toSorted() };
  const detail = failures.map(({ code, message }) => `${code}: ${message}`).join("; ");
  if (detail.startsWith("rego_recursion_error: rule data.conformance."))
    return {
      kind: "not_expressible",
      detail: "the query requests all of data, where it stands itself",
    };
  // What is refused when it is compiled never gives a value: that is the error, only sooner.
  return wanted.kind === "error" ? { kind: "right" } : { kind: "not_compiling", detail };
}

/**
 * The engine reports conflicts as text; anything else that it throws, such as full memory, is not
 * what a case requests.
 */
function isErrorOf(code: string, thrown: string): boolean {
  return code === "eval_conflict_error" && thrown.includes("conflict");
}

/**
 * A run of the compiler that ends without an answer is a fault that a case has found; a broken
 * installation is none.
 */
export function ofToolchainError(error: unknown): Outcome {
  if (
    error instanceof ToolchainError &&
    error.code !== "ARTEFACT_MISSING" &&
    error.code !== "ARTEFACT_DAMAGED"
  )
    return { kind: "not_compiling", detail: error.message };
  throw error;
}
