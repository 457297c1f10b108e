/** Folders of `test/` that judge the mutants of a folder of `src`: `tests` first, then `wider` for mutants that survive. */
interface Area {
  readonly tests: string;
  readonly wider: readonly string[];
}

export const AREAS: Readonly<Record<string, Area>> = {
  decide: { tests: "test/decide", wider: ["test/policy", "test/http/dispatch", "test/http/budget-input"] },
  dialects: {
    tests: "test/dialects",
    wider: ["test/http/translation", "test/http/cut-streams", "test/dispatch/endpoints", "test/recorded"],
  },
  keys: { tests: "test/keys", wider: ["test/http/keys", "test/security/who-calls"] },
  lifecycle: { tests: "test/lifecycle", wider: ["test/http/policies", "test/governance"] },
  limits: { tests: "test/limits", wider: ["test/http/limits", "test/http/spend", "test/http/costs"] },
};
