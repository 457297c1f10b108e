import { ERROR_ANSWERS, ERROR_GROUPS } from "../../canon/error-codes.ts";
import {
  FAILURES,
  FAILURE_KINDS,
  OPERATOR_FIX,
  RETRY_FIX,
  type FailureKind,
} from "../../canon/failure.ts";
import { EVALUATION_INDETERMINATE, REASONS } from "../../canon/reasons.ts";
import { suggest } from "../../compile/authored/literal-secrets.ts";
import { ROUTE_CODES } from "../../compile/findings/codes.ts";
import { ANSWER_FAULTS } from "../../dialects/answer-ends.ts";
import { POLICY_CODES } from "../../policy/codes.ts";
import { ASSERTION_CODES } from "../../simulate/assertions/codes.ts";

import examples from "./examples.json" with { type: "json" };

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

function statusOf(kind: FailureKind): number {
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

/** Codes of providers that are forwarded to callers, by meaning and fix. */
const PASSED_ON: readonly (readonly [codes: string, meaning: string, fix: string])[] = [
  [
    "context_length_exceeded",
    "The conversation is longer than the model's window.",
    "Send less, or use a route with a larger window.",
  ],
  ["max_tokens_exceeded", "The output limit is above the model's.", "Request less output."],
  [
    "missing_required_parameter",
    "A member that the provider requires is absent.",
    "Add it, or use another route.",
  ],
  ["string_above_max_length", "A text is longer than the provider takes.", "Shorten it."],
  [
    "invalid_image invalid_base64_image image_parse_error empty_image_file",
    "The provider cannot read an image.",
    "Send another file or format.",
  ],
  [
    "invalid_image_format unsupported_image_media_type",
    "The provider does not take the image's format.",
    "Send PNG or JPEG.",
  ],
  ["invalid_prompt", "The provider refuses the prompt.", "Change the request."],
  [
    "image_too_large image_file_too_large",
    "An image is larger than the provider takes.",
    "Send a smaller one.",
  ],
  ["image_too_small", "An image is smaller than the provider takes.", "Send a larger one."],
  [
    "invalid_image_url failed_to_download_image image_file_not_found",
    "The provider cannot fetch an image.",
    "Send its bytes, or another URL.",
  ],
  [
    "invalid_image_mode",
    "The provider does not take the image's color mode.",
    "Send an RGB image.",
  ],
  ["image_not_supported", "The model takes no images.", "Send text only, or use another route."],
  [
    "bio_policy misalignment_policy_violation image_content_policy_violation content_policy_violation",
    "The provider's rules forbid the request.",
    "Change the request.",
  ],
  ["vector_store_timeout", "The provider's file search took too long.", RETRY_FIX],
  [
    "request_too_large",
    "The request is larger than the provider takes at once.",
    "Send less in one request.",
  ],
  [
    "content_filter",
    "The provider's filter stopped the request or the answer.",
    "Change the request; the filter is a setting of the account.",
  ],
  [
    "data_residency_mismatch",
    "The key's project is not in the region of the host.",
    "For the operator: use a key of a project with data residency there.",
  ],
  [
    "insufficient_quota",
    "The account at the provider has no credit left.",
    "For the operator: add credit.",
  ],
  [
    "rate_limit_exceeded rate_limit_error rate_limited",
    "The provider's own rate limit is exhausted.",
    "Try again after `retry-after`.",
  ],
  [
    "json_validate_failed",
    "The model wrote no JSON that fits the schema.",
    "Try again, or simplify the schema.",
  ],
  [
    "tool_use_failed",
    "The model wrote a tool call that cannot be read.",
    "Try again, or simplify the tool's schema.",
  ],
  ["overloaded_error overloaded", "The provider is overloaded.", RETRY_FIX],
  ["timeout_error", "The provider took too long.", RETRY_FIX],
  ["api_error internal server_error", "The provider failed.", RETRY_FIX],
  [
    "billing_error",
    "The account at the provider cannot be charged.",
    "For the operator: check the account's billing.",
  ],
  [
    "not_found_error",
    "The provider does not have the model or path.",
    "For the operator: correct `upstream_model` or `base_url`.",
  ],
  [
    "available_tools_limit_exceeded",
    "There are more tools than the provider takes.",
    "Send fewer.",
  ],
  ["tool_name_conflict", "Two tools have one name.", "Rename one."],
  [
    "tool_reference_unresolved",
    "The request refers to a tool that it does not define.",
    "Define it.",
  ],
  ["compaction_unavailable", "The model cannot compact conversations.", "Leave compaction out."],
  [
    "compaction_block_ambiguous",
    "The conversation has several compaction blocks where one is allowed.",
    "Keep the last.",
  ],
  [
    "compaction_block_misplaced",
    "A compaction block is at a position where none is allowed.",
    "Send the conversation unchanged, as the answers contained it.",
  ],
  [
    "compaction_content_mismatch",
    "A compaction block is not what the provider wrote.",
    "Send it unchanged.",
  ],
  [
    "compaction_incomplete_turn",
    "A compaction was requested in the middle of a turn.",
    "Request it after the turn.",
  ],
  ["compaction_nothing_to_summarize", "There is nothing to compact.", "Leave compaction out."],
  [
    "compaction_signature_invalid",
    "The signature of a compaction block is not valid there.",
    "Send it unchanged to the provider that wrote it.",
  ],
  [
    "unexpected_output_item",
    "The provider answered with an item that the request did not require.",
    "For the operator: report it.",
  ],
  [
    "malformed_model_output malformed_response",
    "The provider reports that its model wrote no readable output.",
    RETRY_FIX,
  ],
  [
    "malformed_tool_use",
    "The provider's model wrote an unreadable tool call.",
    "Try again, or simplify the tool's schema.",
  ],
  [
    "malformed_function_call",
    "The provider reports that its model wrote an unreadable tool call.",
    "Try again, or simplify the tool's schema.",
  ],
  [
    "unexpected_tool_call",
    "The model called a tool although none was allowed.",
    "Try again; allow tools or send none.",
  ],
  [
    "too_many_tool_calls",
    "The model kept calling tools until the provider stopped it.",
    "Try again, or send fewer tools.",
  ],
  [
    "missing_thought_signature",
    "The conversation lacks a signature that the provider requires.",
    "Send the conversation unchanged, as the answers contained it.",
  ],
  ["no_image", "An image was requested, and the model made none.", "Change the request."],
  ["generation_timeout", "The provider cancelled the answer because it took too long.", RETRY_FIX],
  [
    "invalid_argument",
    "The provider refused a member of the request without saying which.",
    "Leave out unusual members; check what the route's provider supports.",
  ],
  [
    "invalid_request",
    "The provider refused the request without saying why.",
    "Leave out unusual members; check what the route's provider supports.",
  ],
  [
    "failed_precondition",
    "The provider does not serve the request for this account or region.",
    "For the operator: check the account's region and billing.",
  ],
  [
    "out_of_range",
    "A number is out of the range that the provider accepts.",
    "Use another number.",
  ],
  ["already_exists", "An object of this name or id exists already at the provider.", RETRY_FIX],
  ["aborted cancelled", "The provider aborted the call.", RETRY_FIX],
  ["unknown", "The provider failed and gave no reason.", RETRY_FIX],
  ["deadline_exceeded", "The provider exceeded its own time limit.", RETRY_FIX],
  ["permission_denied access_denied", "The provider's credential may not do this.", OPERATOR_FIX],
  ["unauthenticated", "The provider does not accept the router's credential.", OPERATOR_FIX],
  ["api_key_invalid", "The provider does not accept the router's key.", OPERATOR_FIX],
  ["unimplemented", "The provider does not have the requested object.", "Use another route."],
  ["unavailable", "The provider cannot serve the model now.", RETRY_FIX],
  ["data_loss", "The provider failed and lost data.", RETRY_FIX],
  ["model_error", "The model failed at the provider.", RETRY_FIX],
  ["model_not_ready", "The provider is loading the model.", RETRY_FIX],
  ["model_stream_error", "The model failed in the middle of its answer.", RETRY_FIX],
  ["model_timeout", "The model took longer than the provider allows.", RETRY_FIX],
  [
    "quota_exceeded",
    "The account at the provider has reached its quota.",
    "For the operator: request a higher quota from the vendor.",
  ],
];

/** Failures of providers. */
const UPSTREAM_CODES: Readonly<Record<string, AnswerCode>> = {
  ...ATTEMPT_CODES,
  ...ANSWER_CODES,
  ...Object.fromEntries(
    PASSED_ON.flatMap(([codes, meaning, fix]) =>
      codes
        .split(" ")
        .map((code) => [
          code,
          answer([400, 413, 429, 502], meaning, "A provider that answers with this code.", fix),
        ]),
    ),
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

/** An error that does not come from the compiler. */
const error = (meaning: string, example: readonly string[], fix: string): Finding => ({
  severity: "error",
  meaning,
  example,
  fix,
});

/** Findings of a start and of a reload: secrets are no part of the files. */
const START_CODES: Readonly<Record<string, Finding>> = {
  SECRET_NOT_SET: error(
    "The secret of a provider is not set, and its row has no `on_missing_secret` that allows this.",
    [
      "auth: { bearer: { env: OPENAI_API_KEY } }",
      "# and OPENAI_API_KEY is not set where signalbox serve runs",
    ],
    "Set it, or write `on_missing_secret: disable` (leave the provider out) or `simulate` (the simulated upstream answers).",
  ),
  SECRET_UNUSABLE: error(
    "The secret of a provider is set and has characters that an HTTP header cannot carry.",
    ["auth: { bearer: { file: /run/secrets/openai } }", "# and the file holds two lines"],
    "Look for line breaks or quotation marks around the secret.",
  ),
};

/** Findings of `signalbox check` about comments in any file. */
const COMMENT_CODES: Readonly<Record<string, Finding>> = {
  ACCEPTANCE_UNUSED: {
    severity: "warning",
    meaning: "A comment that accepts a warning has no effect, or gives no reason.",
    example: ["# signalbox: accept MODEL_UNUSED because", "routes:"],
    fix: "Write `# signalbox: accept CODE because REASON` above the line of the warning, or remove it.",
  },
};

/** Findings of `signalbox policy test`. */
const TEST_CODES: Readonly<Record<string, Finding>> = {
  POLICY_TEST_FAILED: error(
    "A test of a policy failed.",
    [
      'test_others_are_denied if not policy.pass.gate with input as {"workspace": {"tier": "standard"}}',
    ],
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

/** Context of a code. A code may have another meaning in each context. */
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
  ["configuration", COMMENT_CODES],
  ["start", START_CODES],
  ["tests", TEST_CODES],
  ...ANSWER_GROUPS.map(([, codes]) => ["answers", codes] as const),
];

/** Every meaning of a code; empty for an unknown one. */
export function explainCode(code: string): readonly ExplainedCode[] {
  return TABLES.flatMap(([kind, codes]) => {
    const facts = Object.hasOwn(codes, code) ? codes[code] : undefined;
    if (facts === undefined) return [];
    const { meaning, fix, example = EXAMPLES[kind]?.[code] ?? [] } = facts;
    const weight = "status" in facts ? statusesOf(facts.status) : facts.severity;
    return [{ kind, weight, meaning, example: [example].flat(), fix }];
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
export function formatCode(code: string, meanings: readonly ExplainedCode[]): string {
  const parts = meanings.map(({ kind, weight, meaning, example, fix }) => {
    const of = kind === "answers" ? `status ${weight}` : weight;
    const shown = example.map((line) => `    ${line}`).join("\n");
    return `${code} ${TITLES[kind]} (${of})\n\n  What it means\n    ${meaning}\n\n  For example\n${shown}\n\n  What to do\n    ${fix}\n`;
  });
  return parts.join("\n");
}
