import type { AnswerCode } from "../../../canon/errors/coded-error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import {
  REQUIREMENTS,
  type MissingRequirement,
  type RequirementFacts,
  type RequirementFormat,
} from "../../../canon/promotion.ts";

/** The first of the order speaks for several. */
export function missingCode(missing: readonly MissingRequirement[]): AnswerCode {
  const first = REQUIREMENTS.find(({ name }) => missing.some(({ requirement }) => requirement === name));
  if (first === undefined) throw new Error("policies: a refusal that misses nothing");
  return first.code;
}

export function missingJson({ requirement, have, need, ...facts }: MissingRequirement): JsonObject {
  if (REQUIREMENTS.some(({ name, kind }) => name === requirement && kind === "duration")) {
    return {
      requirement,
      have_seconds: Math.floor((have ?? 0) / 1_000),
      need_seconds: Math.ceil((need ?? 0) / 1_000),
    };
  }
  return { requirement, ...(have !== undefined && { have }), ...(need !== undefined && { need }), ...facts };
}

const NONE: RequirementFacts = { have: 0, need: 0, roles: [], claimed: 0, outdated: 0 };

const FORMAT: RequirementFormat = {
  number: String,
  amount: (amount, singular) => `${amount} ${singular}${amount === 1 ? "" : "s"}`,
  duration,
  selfApproval: false,
};

/** All that is missing, in one sentence with numbers. */
export function describeMissing(missing: readonly MissingRequirement[]): string {
  const parts = missing.flatMap(({ requirement, ...facts }) =>
    REQUIREMENTS.filter(({ name }) => name === requirement).map(({ needed }) => needed({ ...NONE, ...facts }, FORMAT)),
  );
  return `The promotion still needs ${joined(parts)}.`;
}

function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join("; ")}; and ${parts.at(-1)}`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** Rounded down to its two largest units, such as `2d 3h`. @param time milliseconds. */
function duration(time: number): string {
  let rest = Math.floor(time / 1_000);
  const parts: string[] = [];
  for (const [unit, seconds] of UNITS) {
    if (rest >= seconds) parts.push(`${Math.floor(rest / seconds)}${unit}`);
    rest %= seconds;
  }
  if (rest > 0 || parts.length === 0) parts.push(`${rest}s`);
  return parts.slice(0, 2).join(" ");
}
