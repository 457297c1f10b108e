/** Mutants that may survive, by file and change (`describeMutant`), each with the reason. Every other survivor is red. */
export const ACCEPTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "src/dialects/openai-completions/parse-answer.ts": {
    "#resumed = false; → #resumed = true;": "read only when a finish reason has set it",
  },
  "src/limits/compose-lease.ts": {
    'const isUndone = error instanceof StoreUnavailableError && error.done === "no"; → const isUndone = error.done === "no";':
      "errors of other classes have no `done`",
  },
  "src/limits/quotas.ts": {
    "else if (counter.available > counter.keep) this.#returnSoon(); → else if (counter.available >= counter.keep) this.#returnSoon();":
      "the timer finds nothing to give back and calls no store",
  },
};
