import { setTimeout as delay } from "node:timers/promises";
import type { HealthSettings } from "../canon/table.ts";
import type { Decider } from "../decide/decider.ts";
import type { Connection } from "../dispatch/connections.ts";

/**
 * One table, its policies and its connections, by which requests are decided. A reload replaces it
 * as a whole.
 */
export interface Snapshot {
  readonly decider: Decider;
  readonly connections: ReadonlyMap<string, Connection>;
  /**
   * Gives the connections back; called once, when the last request that took this snapshot has
   * ended.
   */
  readonly releaseConnections: () => Promise<void>;
}

/**
 * The one pointer that a reload swaps. A request takes the snapshot once and is decided, relayed
 * and recorded with it alone.
 */
export class SnapshotHolder {
  #current: CountedSnapshot;

  constructor(first: Snapshot) {
    this.#current = { snapshot: first, users: 0, retired: false };
  }

  get current(): Snapshot {
    return this.#current.snapshot;
  }

  /** Requests in flight on the current snapshot. */
  get users(): number {
    return this.#current.users;
  }

  /** Takes the current snapshot; call `release` once when the request has ended. */
  take(): { readonly snapshot: Snapshot; readonly release: () => void } {
    const entry = this.#current;
    entry.users += 1;
    return {
      snapshot: entry.snapshot,
      release: () => {
        entry.users -= 1;
        if (entry.retired && entry.users === 0) void entry.snapshot.releaseConnections();
      },
    };
  }

  /**
   * Resolves when no request is in flight, or after 1.5 seconds: streams may be read on for a
   * second without a client.
   */
  async idle(): Promise<void> {
    const end = performance.now() + IDLE_TIME;
    while (this.users > 0 && performance.now() < end) await delay(10);
  }

  swap(next: Snapshot): void {
    const old = this.#current;
    this.#current = { snapshot: next, users: 0, retired: false };
    old.retired = true;
    if (old.users === 0) void old.snapshot.releaseConnections();
  }
}

/** Milliseconds. */
const IDLE_TIME = 1_500;

interface CountedSnapshot {
  readonly snapshot: Snapshot;
  users: number;
  retired: boolean;
}

/**
 * The settings by which an endpoint's health is judged now; `null` where the table has no such
 * endpoint.
 */
export function healthSettingsOf(
  snapshots: SnapshotHolder,
): (endpointId: string) => HealthSettings | null {
  return (endpointId) => {
    const { endpoints, providers } = snapshots.current.decider.table;
    const endpoint = endpoints[endpointId];
    return endpoint === undefined ? null : (providers[endpoint.provider]?.health ?? null);
  };
}
