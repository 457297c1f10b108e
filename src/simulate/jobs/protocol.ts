import type { SimulationTally } from "../compare/simulation-tally.ts";

/** What a thread is asked to do; it answers one request at a time, in their order. */
export type JobRequest = { readonly kind: "run"; readonly jobs: readonly number[] } | { readonly kind: "tally" };

export type JobAnswer = { readonly kind: "ran" } | { readonly kind: "tally"; readonly tally: SimulationTally };
