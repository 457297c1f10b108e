import type { Tone } from "../../components/text.tsx";
import type { DecisionLine } from "../../api/types.ts";
import { ABSENT, dollars, humanise } from "../../format/amounts.ts";

/** The result of a request, for a cell of a table. */
export function resultOf({
  outcome,
  terminal,
}: Pick<DecisionLine, "outcome" | "terminal">): string {
  if (outcome === "deny") return "denied";
  if (outcome === "refuse") return "refused";
  if (terminal === null) return "running";
  return humanise(terminal);
}

const TONES: Readonly<Record<string, Tone>> = {
  denied: "stop",
  failed: "stop",
  refused: "widen",
  incomplete: "widen",
  "client closed": "quiet",
  unknown: "quiet",
  running: "narrow",
  completed: "good",
};

export const toneOf = (result: string): Tone => TONES[result] ?? "quiet";

/** The console's own readings are requests too; they are shown where they are requested. */
export const KINDS = [["", "of models"], ["router", "answered by the router"], "all"] as const;

export const OUTCOMES = [
  ["", "any"],
  ["route", "routed"],
  ["deny", "denied by policy"],
  ["refuse", "refused before a decision"],
  ["answer", "answered by the router"],
] as const;

export const TERMINALS = [
  ["", "any"],
  "completed",
  "incomplete",
  "failed",
  "denied",
  "refused",
  ["client_closed", "client closed"],
  "unknown",
] as const;

/** A request that called no provider has no cost; of one that did it may be unknown. */
export function costOf({
  cost_usd,
  attempts,
  terminal,
}: Pick<DecisionLine, "cost_usd" | "attempts" | "terminal">): string {
  return cost_usd === null && (attempts === 0 || terminal === null) ? ABSENT : dollars(cost_usd);
}

/** As in "usd/day of the key". */
export const limitName = ({ subject, measure, per }: NonNullable<DecisionLine["limit"]>): string =>
  humanise(`${measure}${per === null ? "" : `/${per}`} of the ${subject}`);
