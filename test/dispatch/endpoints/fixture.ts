import type { Candidate } from "../../../src/canon/decision.ts";
import type { FailureKind, UpstreamFailure } from "../../../src/canon/failure.ts";
import type { HealthSettings } from "../../../src/canon/table.ts";
import type { CallOutcome } from "../../../src/dispatch/endpoint-tracker.ts";
import { endpoint } from "../../support/table.ts";

export const SETTINGS: HealthSettings = {
  consecutiveFailures: 3,
  failureRatio: 0.5,
  minimumCalls: 10,
  window: 30_000,
  ejection: 10_000,
  longestEjection: 60_000,
  probe: null,
};

export const PROBED: HealthSettings = { ...SETTINGS, probe: { path: "/models", interval: 5_000 } };

export function failure(kind: FailureKind, retryAfter: number | null = null): UpstreamFailure {
  return { kind, status: null, retryAfter, code: null };
}

export const WELL: CallOutcome = { failure: null, firstToken: null, tokensPerSecond: null };
export const ILL: CallOutcome = { ...WELL, failure: failure("server_error") };

export function candidate(id: string, more: Partial<Candidate> = {}): Candidate {
  return { endpoint: endpoint(id), rank: "primary", tier: 0, balance: "order", weight: 1, ...more };
}

/** Candidates of one tier. */
export function tier(ids: readonly string[], more: Partial<Candidate> = {}): readonly Candidate[] {
  return ids.map((id) => candidate(id, more));
}

export function idsOf(candidates: readonly Candidate[]): readonly string[] {
  return candidates.map(({ endpoint: { id } }) => id);
}

/** Numbers from 0 up to 1 that are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
