/**
 * Mutants that may survive, by file and change (`describeMutant`), each with the reason. Every
 * other survivor is red.
 */
export const ACCEPTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "src/decide/policy-input.ts": {
    "if (requested === null) return 0; → ;":
      "no model has vectors of length null; the line saves a pass over all models",
  },
  "src/dialects/openai-chat/read-answer.ts": {
    "#resumed = false; → #resumed = true;": "read only when a finish reason has set it",
  },
  "src/dispatch/credentials/authorize.ts": {
    '...(endpoint === "" ? {} : { endpoint }), → ...({ endpoint }),':
      "no test may call the address of AWS itself",
  },
  "src/dispatch/health.ts": {
    "failuresIn[slot] = (failuresIn[slot] ?? 0) + 1; → failuresIn[slot] = (failuresIn[slot]) + 1;":
      "the array has every slot",
  },
  "src/http/admission.ts": {
    "const untilReset = Math.max(0, end - now); → const untilReset = Math.max(1, end - now);":
      "no client waits by the millisecond",
    "if (subjects.length === 0) return unlimited(); → ;":
      "the quotas limit nothing either; the line saves the estimate",
    "const decided = quotas.reserve(subjects, amounts, deadline - performance.now()); → const decided = quotas.reserve(subjects, amounts, deadline + performance.now());":
      "the quotas bound their wait too, and the answer after it is the same",
  },
  "src/keys/workload-tokens.ts": {
    'const isValid = found.issuer === issuer && typeof uri === "string" && isFetchable(uri, issuer); → const isValid = found.issuer === issuer && isFetchable(uri, issuer);':
      "an address that is no text cannot be parsed",
  },
  "src/keys/key-ring.ts": {
    "return timingSafeEqual(scratch, entry.digest) && entry.accepted.ok → return timingSafeEqual(scratch, entry.digest)":
      "no digest equals that of the entry without an identity",
    "if (entry !== undefined && !entry.revoked && now < entry.expiresAt) return true; → if (!entry.revoked && now < entry.expiresAt) return true;":
      "every listed key has an entry",
  },
  "src/keys/oidc-client.ts": {
    "const CLOCK_SKEW = 30; → const CLOCK_SKEW = 31;": "a second more does no harm",
    "const TIMEOUT = 10; → const TIMEOUT = 11;": "a second more does no harm",
  },
  "src/limits/counter-account.ts": {
    "held = 0; → held = 1;": "no slot is free before the first lease, which sets the number",
  },
  "src/limits/quotas.ts": {
    'const isRolledBack = error instanceof StoreUnavailableError && error.applied === "no"; → const isRolledBack = error.applied === "no";':
      "errors of other classes have no `applied`",
    "else if (counter.available > counter.keep) returnSoon(); → else if (counter.available >= counter.keep) returnSoon();":
      "the timer finds nothing to give back and calls no store",
  },
};
