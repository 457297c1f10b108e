import { ERROR_ANSWERS, ERROR_GROUPS } from "../../canon/error-codes.ts";
import { FAILURES, FAILURE_KINDS, RETRY_FIX, type FailureKind } from "../../canon/failure.ts";
import { EVALUATION_INDETERMINATE, REASONS } from "../../canon/reasons.ts";
import { suggest } from "../../compile/authored/literal-secrets.ts";
import { ROUTE_CODES } from "../../compile/findings/codes.ts";
import { ANSWER_FAULTS } from "../../dialects/answer-ends.ts";
import { POLICY_CODES } from "../../policy/codes.ts";
import { ASSERTION_CODES } from "../../simulate/assertions/codes.ts";

import examples from "./examples.json" with { type: "json" };
import findings from "./findings.json" with { type: "json" };
import vendorCodes from "./vendor-codes.json" with { type: "json" };

/** Meaning of an error code of an HTTP answer, for callers and operators. */
interface AnswerCode {
  /** Its HTTP status or statuses. */
  readonly status: number | readonly number[];
  readonly meaning: string;
  /** A request or a situation that gets it. */
  readonly example: string;
  readonly fix: string;
}

function answer(
  status: AnswerCode["status"],
  meaning: string,
  example: string,
  fix: string,
): AnswerCode {
  return { status, meaning, example, fix };
}

const ATTEMPT_CODES: Readonly<Record<string, AnswerCode>> = Object.fromEntries(
  FAILURE_KINDS.map((kind) => [
    `upstream_${kind}`,
    answer(
      statusOf(kind),
      `No endpoint of the plan answered; the last attempt: ${FAILURES[kind].sentence}.`,
      "A route with one endpoint, whose provider has this failure.",
      FAILURES[kind].fix,
    ),
  ]),
);

function statusOf(kind: FailureKind) {
  return kind === "rejected" ? 400 : (ERROR_ANSWERS.get(`upstream_${kind}`)?.status ?? 502);
}

const ANSWER_CODES: Readonly<Record<string, AnswerCode>> = Object.fromEntries(
  Object.entries(ANSWER_FAULTS).map(([fault, sentence]) => [
    fault,
    answer(
      502,
      `The provider's answer to embeddings, rerank or moderations is incomplete: ${sentence}.`,
      "A provider behind a proxy that changes answers, or a row whose dialect, dimensions or categories are not the model's.",
      "For the operator: compare the row with what the provider serves; `flags` name known deviations.",
    ),
  ]),
);

/** Failures of providers. */
const UPSTREAM_CODES: Readonly<Record<string, AnswerCode>> = {
  ...ATTEMPT_CODES,
  ...ANSWER_CODES,
  // Codes of vendors that callers get unchanged.
  ...Object.fromEntries(
    vendorCodes.flatMap(({ codes, meaning, fix = RETRY_FIX }) => {
      const row = answer(
        [400, 413, 429, 502],
        meaning,
        "A provider that answers with this code.",
        fix,
      );
      return codes.map((code) => [code, row]);
    }),
  ),
  missing_finish_reason: answer(
    502,
    "The provider closed its answer without a finish reason, so it may be incomplete.",
    "A chat completions stream of `[DONE]` after chunks whose `finish_reason` is `null`.",
    `${RETRY_FIX} A provider that never gives a finish reason can only be used by callers of its own protocol.`,
  ),
  format_not_followed: answer(
    502,
    "The model's answer is not the one JSON object that the response format requires.",
    "A model that writes text instead of calling the tool of a route with `emulate_json_schema`.",
    `${RETRY_FIX} Or use a model with response formats of its own.`,
  ),
  unknown_finish_reason: answer(
    502,
    "The provider ended an answer without output with a finish reason that its protocol does not have.",
    "A new finish reason that this release does not support.",
    "For the operator: report it.",
  ),
};

/** Context of a code. A code may have another meaning in each context. */
type CodeKind = "configuration" | "policies" | "assertions" | "start" | "tests" | "answers";

interface Finding {
  readonly severity: string;
  readonly meaning: string;
  /** Default: the example in examples.json. */
  readonly example?: readonly string[];
  readonly fix: string;
}

/** Answers of the HTTP API by group, in the order of docs/troubleshooting.md. */
export const ANSWER_GROUPS: readonly (readonly [
  title: string,
  codes: Readonly<Record<string, AnswerCode>>,
])[] = [
  ["The request", ERROR_GROUPS["The request"]],
  ["What the workspace may use", { ...REASONS, EVALUATION_INDETERMINATE }],
  ["The connection, keys and the server", ERROR_GROUPS["The connection, keys and the server"]],
  ["Limits", ERROR_GROUPS.Limits],
  ["The provider", { ...UPSTREAM_CODES, ...ERROR_GROUPS["The provider"] }],
  [
    "Keys, the catalogue and changes of policies",
    ERROR_GROUPS["Keys, the catalogue and changes of policies"],
  ],
];

const EXAMPLES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = examples;

const TABLES: readonly (readonly [CodeKind, Readonly<Record<string, Finding | AnswerCode>>])[] = [
  ["configuration", ROUTE_CODES],
  ["policies", POLICY_CODES],
  ["assertions", ASSERTION_CODES],
  ["configuration", findings.configuration],
  ["start", findings.start],
  ["tests", findings.tests],
  ...ANSWER_GROUPS.map(([, codes]) => ["answers", codes] as const),
];

/** Every meaning of a code; empty for an unknown one. */
export function explainCode(code: string) {
  return TABLES.flatMap(([kind, codes]) => {
    const facts = Object.hasOwn(codes, code) ? codes[code] : undefined;
    if (facts === undefined) return [];
    const { meaning, fix, example = EXAMPLES[kind]?.[code] ?? [] } = facts;
    /** `error` or `warning` of a finding; the statuses of an answer. */
    const weight = "status" in facts ? statusesOf(facts.status) : facts.severity;
    /** Lines that raise it, or a sentence where it takes more than lines. */
    const lines = [example].flat();
    return [{ kind, weight, meaning, example: lines, fix }];
  });
}

/** `429, 502` of several statuses. */
export function statusesOf(status: AnswerCode["status"]): string {
  return typeof status === "number" ? String(status) : status.join(", ");
}

/** Every code that has an explanation. */
export function explainedCodes(): readonly string[] {
  return [...new Set(TABLES.flatMap(([, codes]) => Object.keys(codes)))].toSorted();
}

/** The message for an unknown code. */
export function unknownCode(code: string): string {
  const hint = suggest(code, explainedCodes());
  // Listing a few of several hundred codes would mislead.
  const nearest = hint.startsWith("did you mean")
    ? `; ${hint}`
    : "; docs/troubleshooting.md lists those of answers";
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

/** Text of `check --explain` for one code. */
export function formatCode(code: string, meanings: ReturnType<typeof explainCode>): string {
  const parts = meanings.map(({ kind, weight, meaning, example, fix }) => {
    const of = kind === "answers" ? `status ${weight}` : weight;
    const shown = example.map((line) => `    ${line}`).join("\n");
    return `${code} ${TITLES[kind]} (${of})\n\n  What it means\n    ${meaning}\n\n  For example\n${shown}\n\n  What to do\n    ${fix}\n`;
  });
  return parts.join("\n");
}
