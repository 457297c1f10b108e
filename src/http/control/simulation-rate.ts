import type { ServiceError } from "../../canon/error.ts";
import { codedError } from "../../canon/error-codes.ts";
import type { RoutingTable } from "../../canon/table.ts";

/**
 * Simulations that a workspace may request in a minute where `limits.simulations_per_minute` of
 * routes.yaml says nothing.
 */
const DEFAULT_SIMULATIONS_PER_MINUTE = 120;

/** Milliseconds. */
const MINUTE = 60_000;

/**
 * Counts the simulations of each workspace in the running minute, in this process. A simulation
 * calls no provider and uses up no limit of inference, but it evaluates policies and is recorded:
 * without a bound one key could keep a process and its log busy.
 */
export class SimulationRate {
  #minute = 0;
  #counts = new Map<string, number>();

  /**
   * Counts one more simulation of the workspace.
   * @param now milliseconds since the epoch. Windows are minutes of UTC, as for all limits.
   * @returns the refusal where the minute's simulations are used up.
   */
  take(workspace: string, perMinute: number, now: number): ServiceError | null {
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts = new Map();
    }
    const count = this.#counts.get(workspace) ?? 0;
    if (count >= perMinute) {
      return codedError(
        "requests_per_minute",
        "Limit of the workspace (simulations_per_minute): the simulations of this minute are used up. Try again after the seconds in retry-after.",
        { retryAfter: (minute + 1) * MINUTE - now },
      );
    }
    this.#counts.set(workspace, count + 1);
    return null;
  }
}

/**
 * Counts a simulation against the workspace's limit. @returns the refusal where none is left in
 * this minute.
 */
export function takeSimulation(
  rate: SimulationRate | undefined,
  { workspaces }: Pick<RoutingTable, "workspaces">,
  workspace: string,
): ServiceError | null {
  const perMinute =
    workspaces[workspace]?.limits.simulationsPerMinute ?? DEFAULT_SIMULATIONS_PER_MINUTE;
  return rate?.take(workspace, perMinute, Date.now()) ?? null;
}
