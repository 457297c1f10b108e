import { ROUTE_CODES } from "../../compile/findings/codes.ts";
import { suggest } from "../../compile/findings/suggest.ts";
import { POLICY_CODES } from "../../policy/codes.ts";
import { ASSERTION_CODES } from "../../simulate/assertions/codes.ts";
import { ERROR_GROUPS } from "../../canon/errors/coded-error.ts";
import { EVALUATION_INDETERMINATE, REASONS } from "../../canon/reasons.ts";
import { UPSTREAM_CODES, type AnswerCode } from "./upstream-codes.ts";
import examples from "./examples.json" with { type: "json" };

/** A finding that neither reading a file nor compiling it makes. */
interface FurtherCode {
  readonly severity: "error" | "warning";
  readonly meaning: string;
  readonly example: readonly string[];
  readonly fix: string;
}

const error = (meaning: string, example: readonly string[], fix: string): FurtherCode => ({
  severity: "error",
  meaning,
  example,
  fix,
});

/** What a start, and a reload, finds besides: secrets are no part of the files. */
const START_CODES: Readonly<Record<string, FurtherCode>> = {
  SECRET_NOT_SET: error(
    "The secret of a provider is not set, and its row has no `on_missing_secret` that allows this.",
    ["auth: { bearer: { env: OPENAI_API_KEY } }", "# and OPENAI_API_KEY is not set where signalbox serve runs"],
    "Set it, or write `on_missing_secret: disable` (leave the provider out) or `simulate` (the simulated upstream answers).",
  ),
  SECRET_UNUSABLE: error(
    "The secret of a provider is set and has characters that an HTTP header cannot carry.",
    ["auth: { bearer: { file: /run/secrets/openai } }", "# and the file holds two lines"],
    "Look for line breaks or quotation marks around the secret.",
  ),
};

/** What `signalbox policy test` finds. */
const TEST_CODES: Readonly<Record<string, FurtherCode>> = {
  POLICY_TEST_FAILED: error(
    "A test of a policy failed.",
    ['test_others_are_denied if not policy.pass.gate with input as {"workspace": {"tier": "standard"}}'],
    "Look at what the test printed; correct the policy, or the test if its expectation is wrong.",
  ),
  POLICY_TEST_ERROR: error(
    "A test of a policy ended with an error: two rules gave one name two values, or a built-in refused its arguments.",
    ["two := 1 if true", "two := 2 if true"],
    "Correct the named line.",
  ),
  POLICY_NOT_TESTED: error(
    "`policy test --strict`: a policy has no test.",
    ["policies/gate.rego without policies/gate_test.rego"],
    "Write `<id>_test.rego`; `signalbox policy new` shows one.",
  ),
  CONSTRAINT_NEVER_SEEN_PASSING: error(
    "`policy test --strict`: no test sees the constraint pass.",
    ["Tests that only expect denials."],
    "Write a test in which it passes.",
  ),
  CONSTRAINT_NEVER_SEEN_FAILING: error(
    "`policy test --strict`: no test sees the constraint fail, so it may never fail.",
    ["Tests that only expect what is allowed."],
    "Write a test in which it fails.",
  ),
  REASON_NEVER_SEEN: error(
    "`policy test --strict`: no test sees one of the constraint's reasons.",
    ["reasons: [NOT_ALLOWED, ALSO_NOT_ALLOWED] with one test of a denial"],
    "Write a test that is denied for it, or remove the reason.",
  ),
  COVERAGE_BELOW_THRESHOLD: error(
    "`policy test`: the tests cover a smaller part of the policy than `--threshold` requires.",
    ["signalbox policy test --strict, and a rule that no test reaches"],
    "Write tests for the lines that the report shows.",
  ),
};

/** Where a code occurs. A code may occur in several contexts and mean something else in each. */
type CodeKind = "configuration" | "policies" | "assertions" | "start" | "tests" | "answers";

/** One meaning of a code. */
interface ExplainedCode {
  readonly kind: CodeKind;
  /** `error` or `warning` of a finding; the statuses of an answer. */
  readonly weight: string;
  readonly meaning: string;
  /** Lines that raise it, or a sentence where it takes more than lines. */
  readonly example: readonly string[];
  readonly fix: string;
}

interface Finding {
  readonly severity: string;
  readonly meaning: string;
  readonly fix: string;
}

/** Answers of the HTTP API by group, in the order of docs/troubleshooting.md. */
export const ANSWER_GROUPS: readonly (readonly [title: string, codes: Readonly<Record<string, AnswerCode>>])[] = [
  ["The request", ERROR_GROUPS["The request"]],
  ["What the workspace may use", { ...REASONS, EVALUATION_INDETERMINATE }],
  ["The connection, keys and the server", ERROR_GROUPS["The connection, keys and the server"]],
  ["Limits", ERROR_GROUPS.Limits],
  ["The provider", { ...UPSTREAM_CODES, ...ERROR_GROUPS["The provider"] }],
  ["Keys, the catalogue and changes of policies", ERROR_GROUPS["Keys, the catalogue and changes of policies"]],
];

const EXAMPLES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = examples;

const FINDINGS: readonly (readonly [CodeKind, Readonly<Record<string, Finding>>])[] = [
  ["configuration", ROUTE_CODES],
  ["policies", POLICY_CODES],
  ["assertions", ASSERTION_CODES],
];

const FURTHER: readonly (readonly [CodeKind, Readonly<Record<string, FurtherCode>>])[] = [
  ["start", START_CODES],
  ["tests", TEST_CODES],
];

/** Everything that a code can mean; nothing for an unknown one. */
export function explainCode(code: string): readonly ExplainedCode[] {
  const findings = FINDINGS.flatMap(([kind, codes]) => {
    const facts = Object.hasOwn(codes, code) ? codes[code] : undefined;
    if (facts === undefined) return [];
    const { severity, meaning, fix } = facts;
    return [{ kind, weight: severity, meaning, example: EXAMPLES[kind]?.[code] ?? [], fix }];
  });
  const further = FURTHER.flatMap(([kind, codes]) => {
    const facts = Object.hasOwn(codes, code) ? codes[code] : undefined;
    return facts === undefined ? [] : [{ kind, weight: facts.severity, ...facts }];
  });
  const answers = ANSWER_GROUPS.flatMap(([, codes]) => {
    const facts = Object.hasOwn(codes, code) ? codes[code] : undefined;
    if (facts === undefined) return [];
    const { status, meaning, example, fix } = facts;
    return [{ kind: "answers" as const, weight: statusesOf(status), meaning, example: [example], fix }];
  });
  return [...findings, ...further, ...answers];
}

/** `429, 502` of several statuses. */
export function statusesOf(status: AnswerCode["status"]): string {
  return typeof status === "number" ? String(status) : status.join(", ");
}

/** Every code that has an explanation. */
export function explainedCodes(): readonly string[] {
  const tables = [...FINDINGS, ...FURTHER, ...ANSWER_GROUPS].map(([, codes]) => codes);
  return [...new Set(tables.flatMap((codes) => Object.keys(codes)))].toSorted();
}

/** The message for an unknown code. */
export function unknownCode(code: string): string {
  const hint = suggest(code, explainedCodes());
  // A list of the first few of several hundred codes would look like an answer.
  const nearest = hint.startsWith("did you mean") ? `; ${hint}` : "; docs/troubleshooting.md lists those of answers";
  return `--explain: no code of that name is known${nearest}. The code of a 403 \`policy_denied\` is a reason of the policy that the error names: read the policy's file`;
}

const TITLES: Readonly<Record<CodeKind, string>> = {
  configuration: "in routes.yaml",
  policies: "in a policy",
  assertions: "in assertions.yaml",
  start: "at a start or a reload of the server",
  tests: "in signalbox policy test",
  answers: "in an answer of the HTTP API",
};

/** What `check --explain` prints of one code. */
export function formatCode(code: string, meanings: readonly ExplainedCode[]): string {
  const parts = meanings.map(({ kind, weight, meaning, example, fix }) => {
    const of = kind === "answers" ? `status ${weight}` : weight;
    const shown = example.map((line) => `    ${line}`).join("\n");
    return `${code} ${TITLES[kind]} (${of})\n\n  What it means\n    ${meaning}\n\n  For example\n${shown}\n\n  What to do\n    ${fix}\n`;
  });
  return parts.join("\n");
}
