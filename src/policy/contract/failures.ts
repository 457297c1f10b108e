import { finding, locationOf, type PolicyCode, type PolicyDiagnostic } from "../codes.ts";
import type { Failure } from "../toolchain/protocol.ts";

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

function codeOf(code: string): PolicyCode {
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

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
