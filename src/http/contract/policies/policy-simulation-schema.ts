const count = { type: "integer", minimum: 0 } as const;

const COMPARISON = { type: "object", required: ["access", "changed_classes", "words", "groups"] } as const;

/** The members that readers need first; `docs/simulate.md` describes the report. */
export const POLICY_SIMULATION = {
  title: "PolicySimulation",
  type: "object",
  required: ["format", "base", "head", "complete", "space", "declared", "promoted", "promoted_policies", "assertions"],
  properties: {
    format: { const: "signalbox.simulation.v2" },
    base: { type: "object", required: ["name", "table_revision", "policies"] },
    head: { type: "object", required: ["name", "table_revision", "policies"] },
    complete: { type: "boolean", description: "Whether every class of requests was decided." },
    space: { type: "object", required: ["classes", "shapes", "dimensions"] },
    declared: COMPARISON,
    promoted: COMPARISON,
    promoted_policies: { type: "array", items: { type: "string" } },
    assertions: {
      type: ["object", "null"],
      required: ["file", "results", "coverage", "passed", "failed", "waived"],
      properties: { passed: count, failed: count, waived: count },
      description: "null: the server has no assertions.yaml beside its policies.",
    },
  },
} as const;
