import { expect } from "vitest";
import type { QueueSettings } from "../../../src/canon/table.ts";
import type { Release } from "../../../src/dispatch/concurrency-limiter.ts";

/** A queue in which no request waits too long or finds no room, unless the test says so. */
export function queue(more: Partial<QueueSettings> = {}): QueueSettings {
  return { size: 1_000, wait: 60_000, ...more };
}

export const NEVER = Number.POSITIVE_INFINITY;

/** What was hoped for: a slot. */
export function admitted(release: Release | null): Release {
  expect(release).not.toBeNull();
  return release ?? (() => {});
}

/** Lets everything that is settled reach those who wait for it. */
export async function turn(): Promise<void> {
  for (let times = 0; times < 10; times += 1) await Promise.resolve();
}
