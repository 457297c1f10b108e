import type { LatentChange, LatentReport } from "../../../src/simulate/report/report.ts";

/** A policy that would take endpoints that keep for a while. */
export function latentChange(changes: Partial<LatentChange> = {}): LatentChange {
  return {
    policy: "data-retention",
    view: "declared",
    direction: "weaker",
    rule: "nothing_kept",
    kind: "constraint",
    where: [
      { path: "candidates.retention", values: ["transient", "days_30"] },
      { path: "workspace.tier", values: ["regulated"] },
    ],
    every: true,
    combinations: 1,
    example: {
      operation: "chat.completions",
      workspace: { id: "clinic", tier: "regulated", labels: [] },
      key: { environment: "other", workload: "other", owner: "other", labels: [] },
      request: {
        route: "chat-eu",
        needs: [],
        stream: false,
        context: "unspecified",
        max_output: "unspecified",
        reasoning_effort: "unspecified",
        dimensions: 0,
        allow_fallbacks: true,
        data_collection: "deny",
        zdr: false,
      },
      budget: { remaining: "unlimited" },
      time: { day: "weekday", hour: "morning" },
      local_time: {},
      candidates: [
        {
          id: "gpt-5-eu",
          rank: "primary",
          model: "gpt-5",
          provider: "openai-eu",
          region: "eu",
          dialect: "openai-chat",
          retention: "transient",
          trains_on_data: false,
          capabilities: [],
          signature_family: "none",
          latency_class: "unspecified",
        },
      ],
    },
    location: { file: "policies/data-retention.rego", line: 13, column: 1, side: "head" },
    ...changes,
  };
}

export function latentReport(changes: Partial<LatentChange> = {}): LatentReport {
  return { complete: true, tried: 6, of: "6", changes: [latentChange(changes)] };
}
