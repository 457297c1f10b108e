import type { EvidenceEntry } from "../../store/port.ts";

/** One request on one line; `-` where there is nothing to say. */
export function formatEntry({ decision, outcome }: EvidenceEntry): string {
  const last = outcome?.attempts.at(-1);
  const target = last === undefined ? (decision.plan[0] ?? "-") : `${last.provider}/${last.region}`;
  const fields = [
    new Date(decision.at).toISOString(),
    decision.requestId,
    decision.workspace ?? "-",
    decision.operation,
    `${decision.route ?? "-"} -> ${target}`,
    outcome?.terminal ?? (decision.outcome === "route" ? "running" : decision.outcome),
    outcome === null || outcome.status === 0 ? "-" : `${outcome.status}`,
    decision.reason ?? last?.failure ?? "-",
    outcome?.inputTokens == null && outcome?.outputTokens == null
      ? "-"
      : `${outcome.inputTokens ?? 0}+${outcome.outputTokens ?? 0} tokens`,
    outcome === null || outcome.terminal === "unknown" ? "-" : `${Math.round(outcome.total)} ms`,
    ...(decision.repeated === undefined ? [] : [`${decision.repeated} requests`]),
  ];
  return fields.join("  ");
}
