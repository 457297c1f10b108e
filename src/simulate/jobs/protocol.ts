import type { SimulationTally } from "../compare/simulation-tally.ts";

/** Requests to a thread; it answers one at a time, in their order. */
export type JobRequest = { readonly kind: "run"; readonly jobs: readonly number[] } | { readonly kind: "tally" };

/** A thread says that it is ready before it gets a job. `done`: how many of the jobs were decided whole before the time was up. */
export type JobAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "ran"; readonly done: number }
  | { readonly kind: "tally"; readonly tally: SimulationTally };
