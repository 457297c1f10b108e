import type { Candidate } from "../../canon/decision.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { wasAsked } from "../failure-error.ts";
import type { AttemptReport } from "../relay-job.ts";

/** A batch of two thousand parts must not become two thousand lines of evidence: calls that ended alike are counted together. */
export class AttemptTally {
  readonly #reports = new Map<string, AttemptReport & { readonly calls: number }>();
  #calls = 0;

  /** Calls that reached a provider. */
  get calls(): number {
    return this.#calls;
  }

  /** @param duration milliseconds. */
  add(
    candidate: Candidate,
    simulated: boolean,
    translated: boolean,
    failure: UpstreamFailure | null,
    status: number | null,
    duration: number,
  ): void {
    if (failure === null || wasAsked(failure)) this.#calls += 1;
    const key = `${candidate.endpoint.id}|${failure?.kind ?? ""}|${failure?.code ?? ""}|${status ?? ""}`;
    const known = this.#reports.get(key);
    this.#reports.set(key, {
      candidate,
      simulated,
      translated,
      failure,
      status,
      duration: Math.max(known?.duration ?? 0, duration),
      calls: (known?.calls ?? 0) + 1,
    });
  }

  /** In the order in which each way to end was first met. */
  reports(): readonly AttemptReport[] {
    return [...this.#reports.values()];
  }
}
