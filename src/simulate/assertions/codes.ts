import { error, type CodeFacts } from "../../canon/diagnostic.ts";
import { TEXT_CODES } from "../../compile/findings/codes.ts";

/**
 * Every finding that reading an assertions file can make; `docs/diagnostics.md` has those that
 * routes.yaml does not have.
 */
export const ASSERTION_CODES = {
  ...TEXT_CODES,
  SOURCE_TOO_LARGE: error(
    "The file is larger than one megabyte.",
    "Select requests by tier, label or operation instead of naming each.",
  ),
  UNKNOWN_KEY: error(
    "The key does not exist here, or not for this kind of assertion. Unknown keys are never ignored.",
    "Correct its spelling or remove it; `docs/assertions.md` lists all keys.",
  ),
  DUPLICATE_ID: error("Two assertions have the same id.", "Give one of them another id."),
  LITERAL_SECRET: error(
    "The file contains a credential, or a value that looks like one. Messages never repeat the value.",
    "Revoke the credential if it was committed, and remove it.",
  ),
  ASSERTION_UNKNOWN_WORD: error(
    "A workspace, route, provider, policy or other name does not exist on either side of the comparison.",
    "Correct its spelling; an assertion about nothing could never fail.",
  ),
  ASSERTION_WORD_GONE: error(
    "A name exists in base but not in head, in an assertion about head only.",
    "Remove the name from the assertion too; only `no_new_access` and `equivalent` read base.",
  ),
  ASSERTION_DATE_INVALID: error(
    "The date does not exist.",
    "Write year, month and day, such as `2026-12-31`.",
  ),
  ASSERTION_CONTRADICTION: error(
    "One request cannot meet both demands: a denial has no endpoints, a routed request has no denial.",
    "Keep one of them.",
  ),
} as const satisfies Record<string, CodeFacts>;

export type AssertionCode = keyof typeof ASSERTION_CODES;

export function isAssertionCode(code: string): code is AssertionCode {
  return Object.hasOwn(ASSERTION_CODES, code);
}
