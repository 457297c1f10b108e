import type { LimitedSubject } from "../../src/limits/accounts.ts";

/**
 * What the processes of `crash.test.ts` share. A month: no window ends while they run, but for one
 * moment in it.
 */
export const LIMITED: LimitedSubject = {
  kind: "workspace",
  id: "acme",
  limits: {
    requestsPerMinute: null,
    tokensPerMinute: null,
    concurrency: 12,
    budget: { tokens: 30_000, per: "month" },
  },
};

export const CEILING = 30_000;
export const CONCURRENCY = 12;
