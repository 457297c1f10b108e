import type { SimulationTally } from "../compare/simulation-tally.ts";

/** Requests to a thread; it answers one at a time, in their order. */
export type JobRequest = { readonly kind: "run"; readonly jobs: readonly number[] } | { readonly kind: "tally" };

export type JobAnswer = { readonly kind: "ran" } | { readonly kind: "tally"; readonly tally: SimulationTally };
