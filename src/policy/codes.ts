import { error, warning, type CodeFacts, type Diagnostic } from "../canon/diagnostic.ts";
import type { Failure } from "./toolchain/protocol.ts";

const CODES: Readonly<Record<string, PolicyCode>> = {
  rego_parse_error: "POLICY_SYNTAX",
  rego_type_error: "POLICY_TYPE",
};

const UNDEFINED_REFERENCE = "undefined ref: ";
const KNOWN_MEMBERS = /^want \(one of\): \[(.*)\]$/;

/**
 * OPA's findings, in our codes. Its messages stay: they quote only the policy, which the person who
 * compiles it may read.
 */
export function diagnosticOf(failure: Failure): PolicyDiagnostic {
  const location = locationOf(failure.file, failure);
  const message = oneLine(failure.message);
  const code = codeOf(failure.code);
  if (message.startsWith(UNDEFINED_REFERENCE)) {
    const reference = message.slice(UNDEFINED_REFERENCE.length);
    const ofInput = /^input\b/.test(reference);
    return finding(
      ofInput ? "POLICY_INPUT_PATH" : code,
      location,
      `${reference} does not exist`,
      hintOf(failure),
    );
  }
  return finding(code, location, message, hintOf(failure));
}

function codeOf(code: string) {
  return (Object.hasOwn(CODES, code) ? CODES[code] : undefined) ?? "POLICY_COMPILE";
}

/**
 * Rules of OPA 0.x, which version 1 refuses: bodies without `if`, partial sets without `contains`.
 */
const OLD_SYNTAX = /`(?:if|contains)` keyword is required|keyword cannot be used for rule name/;

function hintOf({ code, message, details }: Failure): string | undefined {
  if (OLD_SYNTAX.test(message))
    return "This is the syntax of OPA 0.x: run `opa fmt --v0-v1 --write` on the folder.";
  if (/^undefined ref: input\.model\b/.test(message))
    return "The route that the caller named is input.request.route; the model of a candidate is candidate.model.";
  if (code === "rego_unsafe_var_error") {
    return "It has no value: quote it if it is text, import it if it belongs to a library, bind it with `some` or `:=`.";
  }
  const lines = (details ?? []).map(oneLine);
  for (const line of lines) {
    const members = KNOWN_MEMBERS.exec(line)?.[1];
    if (members !== undefined)
      return `Members here are: ${members.replaceAll('"', "").replaceAll(" ", ", ")}.`;
  }
  // The other lines draw arrows under the source.
  const types = lines.filter((line) => /^(?:have|want|left|right)\b/.test(line));
  return types.length === 0 ? undefined : `${types.join("; ").replaceAll(" :", ":")}.`;
}

function oneLine(text: string) {
  return text.replaceAll(/\s+/g, " ").trim();
}

/**
 * Every finding that compiling the policies can make. `docs/diagnostics.md` is written from this
 * table. The fix is the hint of a finding that has no better one of its own.
 */
export const POLICY_CODES = {
  POLICY_FILE_NAME: error(
    "The file's name cannot be a policy, a test or a library.",
    "Name it `<id>.rego` or `<id>_test.rego` with a kebab-case id, or `lib/<name>.rego` with a snake_case name.",
  ),
  POLICY_TOO_LARGE: error(
    "The file is larger than 256 kilobytes.",
    "Move lists into routes.yaml, where policies read them as data.",
  ),
  POLICY_DUPLICATE: error("Two files are the same policy, test or library.", "Keep one of them."),
  POLICY_SYNTAX: error("The text is not Rego (version 1).", "Correct the named line."),
  POLICY_TYPE: error(
    "A type does not fit.",
    "Compare the type of the value at this line with the type that its use requires.",
  ),
  POLICY_COMPILE: error(
    "The module does not compile: a variable that nothing binds, a recursion, an unused import or variable.",
    "Correct the named line.",
  ),
  POLICY_INPUT_PATH: error(
    "The policy reads a member of the input that does not exist; it would always be undefined.",
    "Use a member that `input` has; docs/policies.md lists them.",
  ),
  POLICY_INPUT_WORD: error(
    "A member of the input is compared with a value that it never has, so the comparison always has the same result.",
    "Use one of the values; docs/policies.md lists them.",
  ),
  POLICY_TIME_ZONE: error(
    "A policy reads `input.local_time` for a time zone that does not exist, or without naming one.",
    "Name an IANA time zone in the source, such as `Europe/Berlin`.",
  ),
  POLICY_WORD_UNKNOWN: error(
    "A policy compares with a workspace, tier, label, region or another name that routes.yaml does not declare. Negated, the comparison opens what it should close.",
    "Correct the name, declare it in routes.yaml, or write `# signalbox: later VALUE` in the file.",
  ),
  POLICY_WAIVER: warning(
    "A comment that begins with `signalbox:` waives nothing: it has another form, or the file compares with no such value.",
    "Write `# signalbox: later VALUE, VALUE` with values that the file compares with, or remove it.",
  ),
  POLICY_DATA_PATH: error(
    "The policy reads data that it may not, or that does not exist.",
    "Read data.approved, data.regions, the policy's own rules, or one library by name.",
  ),
  POLICY_LIBRARY_UNKNOWN: error(
    "A library, or a rule of one, does not exist; it would always be undefined.",
    "Correct the name, or write lib/<name>.rego.",
  ),
  POLICY_BUILTIN: error(
    "A built-in function is not available: it is not deterministic, needs the host, or makes text.",
    "Use a built-in that docs/builtins.md lists.",
  ),
  POLICY_WITH: error(
    "`with` replaces input, data or functions, so the policy would not decide about the real request.",
    "Use `with` in `<id>_test.rego` only.",
  ),
  POLICY_PACKAGE: error(
    "The package is not the one that the file's name requires.",
    "Rename the file or the package.",
  ),
  POLICY_METADATA_MISSING: error(
    "The policy has no METADATA block with its contract.",
    "Begin the file with the block that docs/policies.md shows.",
  ),
  POLICY_METADATA: error("The contract in METADATA is not valid.", "Correct the member named."),
  POLICY_ID: error(
    "The id in METADATA is not the file's name.",
    "An id is stable: rename the file, or correct the id.",
  ),
  POLICY_CONSTRAINT_UNDECLARED: error(
    "A rule names a constraint that METADATA does not declare, so the constraint is never evaluated.",
    "Declare it under custom.signalbox.constraints, or correct the name.",
  ),
  POLICY_CONSTRAINT_WITHOUT_RULE: error(
    "A declared constraint has no pass rule; it could never pass and would deny every request.",
    "Write pass.<constraint>, or remove the declaration.",
  ),
  POLICY_CONSTRAINT_NEVER_PASSES: error(
    "No pass rule of the constraint can be true as written; every request would be denied.",
    "Correct the condition that is always false.",
  ),
  POLICY_RULE_SHAPE: error(
    "A pass or reason rule has a form that the constraint's effect cannot use.",
    "gate: `pass.<constraint> if …`; require_all and filter: `pass.<constraint> contains candidate.id if …`.",
  ),
  POLICY_DEFAULT_PASS: error(
    "A default lets the constraint pass if no rule applies; it would fail open.",
    "Remove the default: what is undefined does not pass.",
  ),
  POLICY_REASON_UNDECLARED: error(
    "A reason is not in the constraint's list; the first of the list would be given instead.",
    "Add it to the constraint's reasons, or use one of them.",
  ),
  POLICY_OBLIGATION_KIND: error(
    "An obligation is of a kind that does not exist; it would have no effect.",
    "Use max_output_tokens, strip_field or prefer_region.",
  ),
  POLICY_OBLIGATION_VALUE: error(
    "An obligation's value does not fit its kind.",
    "max_output_tokens: a whole number from 1; strip_field: a member that docs/policies.md lists; prefer_region: a region or a region group.",
  ),
  POLICY_OBLIGATION_UNDECLARED: error(
    "A rule waives an obligation that METADATA does not declare; the intended obligation stays in force.",
    "Declare it under custom.signalbox.obligations, or correct the name.",
  ),
  POLICY_WAIVE_SHAPE: error(
    "A waive rule has a form that waives nothing.",
    "Write `waive.<obligation> if …`.",
  ),
  POLICY_REGION_UNKNOWN: warning(
    "An obligation prefers a region that routes.yaml does not have; it prefers nothing.",
    "Name a region or a region group of routes.yaml.",
  ),
  POLICY_SLOW: warning(
    "An evaluation of the policy uses more than a quarter of the units of work that it may use, or more than all of them.",
    "Look for nested `some` over the same list; use sets and objects, and put the cheapest condition first.",
  ),
  POLICY_DEFAULT_WAIVE: error(
    "A default waives the obligation if no rule applies; it would fail open.",
    "Remove the default: an obligation stays in force unless a rule waives it.",
  ),
  POLICY_TEST_ORPHAN: error(
    "The test has no policy of its name.",
    "Name it `<id>_test.rego` after the policy's id.",
  ),
  POLICY_LIBRARY_UNUSED: warning(
    "No policy and no other library uses the library.",
    "Remove it, or import it.",
  ),
  POLICY_TOOLCHAIN: error(
    "The policies could not be compiled: the toolchain does not run.",
    "Repair the installation.",
  ),
} as const satisfies Record<string, CodeFacts>;

export type PolicyCode = keyof typeof POLICY_CODES;

export type PolicyDiagnostic = Diagnostic<PolicyCode>;

/** The position of a finding; line and column from 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Where the toolchain found something. OPA gives 0 where it knows no position. */
export function locationOf(
  file: string,
  { row, col }: { readonly row: number; readonly col: number },
): Location {
  return { file, line: Math.max(1, row), column: Math.max(1, col) };
}

/** @param hint a fix that is more precise than the code's own. */
export function finding(
  code: PolicyCode,
  location: Location,
  message: string,
  hint?: string,
): PolicyDiagnostic {
  const { severity, fix } = POLICY_CODES[code];
  const { file, line, column } = location;
  return { code, severity, file, line, column, message, hint: hint ?? fix };
}
