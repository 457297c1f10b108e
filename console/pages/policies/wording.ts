import type { Tone } from "../../components/text.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  enforced: "good",
  shadow: "narrow",
  changing: "widen",
  ending: "widen",
  ended: "quiet",
};

export const stateTone = (state: string): Tone => TONES[state] ?? "quiet";

/** Effect of each kind of record in the log. */
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
