import type { AnswerCode } from "../../../canon/errors/coded-error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { MissingRequirement } from "../../../lifecycle/fault.ts";

/** The error code of each, in the order in which they speak for several. */
const CODES: Readonly<Record<MissingRequirement["requirement"], AnswerCode>> = {
  approvals: "approvals_required",
  roles: "approvals_required",
  soak: "soak_not_met",
  decisions: "decisions_required",
  no_indeterminate: "indeterminate_seen",
  report: "report_required",
  assertions: "assertions_not_passed",
};

export function missingCode(missing: readonly MissingRequirement[]): AnswerCode {
  const [first] = Object.entries(CODES).filter(([name]) => missing.some(({ requirement }) => requirement === name));
  if (first === undefined) throw new Error("policies: a refusal that misses nothing");
  return first[1];
}

export function missingJson(missing: MissingRequirement): JsonObject {
  switch (missing.requirement) {
    case "approvals":
    case "decisions":
      return { requirement: missing.requirement, have: missing.have, need: missing.need };
    case "roles":
      return { requirement: "roles", roles: missing.roles };
    case "soak":
      return {
        requirement: "soak",
        have_seconds: Math.floor(missing.have / 1_000),
        need_seconds: Math.ceil(missing.need / 1_000),
      };
    case "no_indeterminate":
    case "assertions":
      return { requirement: missing.requirement, have: missing.have };
    case "report":
      return { requirement: "report", claimed: missing.claimed, outdated: missing.outdated };
  }
}

/** All that is missing, in one sentence with numbers. */
export function describeMissing(missing: readonly MissingRequirement[]): string {
  return `The promotion still needs ${joined(missing.map(describe))}.`;
}

function describe(missing: MissingRequirement): string {
  switch (missing.requirement) {
    case "approvals":
      return `${counted(missing.need, "approval")} of this content (${missing.have} count)`;
    case "roles":
      return `an approver with the role ${missing.roles.join(", and one with ")}`;
    case "soak":
      return `${duration(missing.need)} in shadow (${duration(missing.have)} so far)`;
    case "decisions":
      return `${counted(missing.need, "decision")} in shadow (${missing.have} so far)`;
    case "no_indeterminate":
      return `rules that come to a verdict (${counted(missing.have, "request")} without one in shadow)`;
    case "report":
      return `an approval with the complete simulation report that this server makes itself (${missing.claimed} only claimed, ${missing.outdated} outdated)`;
    case "assertions":
      return missing.have === 0
        ? "an approval whose verified report has assertions that passed"
        : `an approval whose verified report has no failed assertions (${missing.have} failed)`;
  }
}

function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join("; ")}; and ${parts.at(-1)}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
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
