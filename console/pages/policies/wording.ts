import type { MissingRequirement } from "../../api/types.ts";
import type { Tone } from "../../components/text.tsx";
import { counted, span, humanise } from "../../format/amounts.ts";

const TONES: Readonly<Record<string, Tone>> = {
  enforced: "good",
  shadow: "narrow",
  changing: "widen",
  ending: "widen",
  ended: "quiet",
};

export const stateTone = (state: string): Tone => TONES[state] ?? "quiet";

/** What a promotion lacks, in a sentence. */
export function missingSentence(missing: MissingRequirement): string {
  const { requirement, have = 0, need = 0, have_seconds = 0, need_seconds = 0, claimed = 0, outdated = 0 } = missing;
  const roles = missing.roles ?? [];
  switch (requirement) {
    case "approvals":
      return `${counted(need, "approval")}; there ${have === 1 ? "is" : "are"} ${have}`;
    case "roles":
      return `an approval by ${roles.join(" and ")}`;
    case "soak":
      return `${span(need_seconds)} in shadow; it has been ${span(have_seconds)}`;
    case "decisions":
      return `${counted(need, "judged request")}; there are ${have}`;
    case "no_indeterminate":
      return `no request that it could not judge; there ${have === 1 ? "is" : "are"} ${have}`;
    case "report":
      return `an approval with the simulation report that this server makes${detail(claimed, outdated)}`;
    case "assertions":
      return "a verified report whose assertions all pass";
    default:
      return need > 0 ? `${humanise(requirement)}: ${have} of ${need}` : humanise(requirement);
  }
}

function detail(claimed: number, outdated: number): string {
  const parts = [
    ...(claimed > 0 ? [`${claimed} only claimed`] : []),
    ...(outdated > 0 ? [`${outdated} of another table or content`] : []),
  ];
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

/** What a record of the log did. */
export const RECORD_TITLES: Readonly<Record<string, string>> = {
  observed: "found in the files",
  returned: "the files returned to it",
  approved: "approved",
  approval_withdrawn: "approval withdrawn",
  candidate_withdrawn: "candidate withdrawn",
  promoted: "promoted",
  rolled_back: "rolled back",
  released: "released",
};

export const ROLLBACK_REASONS = [
  ["wrong_denials", "it denies what it should not"],
  ["wrong_permits", "it permits what it should not"],
  ["indeterminate", "it cannot judge some requests"],
  ["latency", "it takes too long"],
  ["mistake", "it was promoted by mistake"],
  ["other", "another reason"],
] as const;
