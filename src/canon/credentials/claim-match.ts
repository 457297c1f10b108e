import type { JsonObject, JsonValue } from "../json.ts";
import { isJsonObject } from "../json.ts";
import type { ClaimRule } from "../workload-identity.ts";

/** Characters of a claim that are compared with a pattern; a longer one matches nothing. */
const LONGEST_CLAIM = 2_048;

/** Items of a claim that is a list that are looked at. */
const MOST_ITEMS = 256;

/** Whether claims have what all of the rules require. */
export function matchesClaims(claims: JsonObject, rules: readonly ClaimRule[]): boolean {
  // A rule without claims would admit everybody for whom the issuer signs.
  return (
    rules.length > 0 &&
    rules.every(({ claim, values }) => {
      const value = claimAt(claims, claim);
      const items = Array.isArray(value) ? value.slice(0, MOST_ITEMS) : [value];
      return items.some((item) => values.some((expected) => matchesValue(item, expected)));
    })
  );
}

/**
 * The claim of a name, or where a JSON pointer leads (RFC 6901); `undefined` where there is none. A
 * pointer leads through objects only.
 */
function claimAt(claims: JsonObject, claim: string): JsonValue | undefined {
  const names = claim.startsWith("/")
    ? claim
        .slice(1)
        .split("/")
        .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    : [claim];
  return names.reduce<JsonValue | undefined>(
    (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    claims,
  );
}

/** A text is no number: `"true"` does not match `true`. */
function matchesValue(item: JsonValue | undefined, expected: ClaimRule["values"][number]): boolean {
  if (typeof expected !== "string") return item === expected;
  return typeof item === "string" && item.length <= LONGEST_CLAIM && matchesPattern(item, expected);
}

/**
 * Whether a text is exactly what a pattern says. `*` stands for at least one character other than
 * `/` and `:`, which separate the parts of names: one for a part does not match across parts.
 */
export function matchesPattern(text: string, pattern: string): boolean {
  if (!pattern.includes("*")) return text === pattern;
  const parts = text.split(SEPARATOR);
  const patterns = pattern.split(SEPARATOR);
  return (
    parts.length === patterns.length &&
    parts.every((part, index) => matchesPart(part, patterns[index] ?? ""))
  );
}

/** With its separators, which stand for themselves. */
const SEPARATOR = /([/:])/;

/**
 * The first fit of each piece between stars leaves most for those after it, so nothing has to be
 * tried twice.
 */
function matchesPart(part: string, pattern: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  if (last === undefined) return part === pattern;
  if (!part.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    // A star stands for one character at least.
    const found = part.indexOf(piece, at + 1);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return part.length > at + last.length && part.endsWith(last);
}

/**
 * Whether every token that the second list lets through is let through by the first one too. May
 * say no where it is so; never says yes where it is not.
 */
export function coversClaims(wide: readonly ClaimRule[], narrow: readonly ClaimRule[]): boolean {
  return wide.every(({ claim, values }) => {
    const own = narrow.find((rule) => rule.claim === claim);
    return own?.values.every((value) => values.some((other) => coversValue(other, value))) === true;
  });
}

/** A `*` of the narrow pattern is a character that only a `*` of the wide one matches. */
function coversValue(
  wide: ClaimRule["values"][number],
  narrow: ClaimRule["values"][number],
): boolean {
  return typeof wide === "string" && typeof narrow === "string"
    ? matchesPattern(narrow, wide)
    : wide === narrow;
}
