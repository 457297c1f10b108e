/**
 * Test files and folders that judge the mutants of a path: `tests` first, then `wider` for mutants
 * that survive.
 */
export interface Area {
  readonly tests: readonly string[];
  readonly wider: readonly string[];
}

export const AREAS: Readonly<Record<string, Area>> = {
  "src/decide": {
    tests: ["test/decide"],
    wider: ["test/policy", "test/http/dispatch", "test/http/budget-input"],
  },
  "src/dialects": {
    tests: ["test/dialects"],
    wider: [
      "test/http/translation",
      "test/http/cut-streams",
      "test/dispatch/endpoints",
      "test/recorded",
    ],
  },
  "src/dispatch": {
    tests: ["test/dispatch"],
    wider: [
      "test/http/dispatch",
      "test/http/relay",
      "test/http/provider-faults",
      "test/http/cut-streams",
      "test/http/lost-connections",
      "test/http/callers-mistakes",
      "test/running/revoked-calls",
      "test/keys/workloads",
      "test/security/private-addresses",
    ],
  },
  "src/http/admission.ts": {
    tests: ["test/http/limits", "test/http/budget-input", "test/http/impossible-counts"],
    wider: ["test/http/fair-share", "test/http/spend", "test/http/costs", "test/http/split-batch"],
  },
  "src/keys": { tests: ["test/keys"], wider: ["test/http/keys", "test/security/who-calls"] },
  "src/lifecycle": { tests: ["test/lifecycle"], wider: ["test/http/policies", "test/governance"] },
  "src/limits": {
    tests: ["test/limits"],
    wider: ["test/http/limits", "test/store/sqlite", "test/http/costs"],
  },
};
