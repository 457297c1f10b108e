import { endedAt } from "../../evidence/answered-by.ts";
import type { EvidenceEntry } from "../../evidence/evidence-store.ts";

/** One request on one line; `-` where there is nothing to say. */
export function formatEntry({ decision, outcome }: EvidenceEntry): string {
  const ended = outcome === null ? [] : endedAt(outcome);
  const targets = new Set(ended.map(({ provider, region }) => `${provider}/${region}`));
  const target = targets.size === 0 ? (decision.plan[0] ?? "-") : [...targets].join(" + ");
  const fields = [
    new Date(decision.at).toISOString(),
    decision.requestId,
    decision.workspace ?? "-",
    decision.operation,
    `${decision.route ?? "-"} -> ${target}`,
    outcome?.terminal ?? (decision.outcome === "route" ? "running" : decision.outcome),
    outcome === null || outcome.status === 0 ? "-" : `${outcome.status}`,
    decision.reason ?? ended[0]?.failure ?? "-",
    outcome?.inputTokens == null && outcome?.outputTokens == null
      ? "-"
      : `${outcome.inputTokens ?? 0}+${outcome.outputTokens ?? 0} tokens`,
    outcome === null || outcome.terminal === "unknown" ? "-" : `${Math.round(outcome.total)} ms`,
    ...(decision.repeated === undefined ? [] : [`${decision.repeated} requests`]),
  ];
  return fields.join("  ");
}
