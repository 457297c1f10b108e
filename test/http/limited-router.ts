import type { KeyLimits, WorkspaceLimits } from "../../src/canon/limits.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { createQuotas } from "../../src/limits/quotas.ts";
import { MemoryLimitStore } from "../limits/memory-store.ts";
import { startRouter, type Router } from "../support/router.ts";
import { identity } from "../support/table.ts";
import { evidenceOf } from "../support/evidence-of.ts";

/** 2026-11-22T10:00:10Z. */
export const NOW = Date.UTC(2026, 10, 22, 10, 0, 10);

/** The time that limits go by. */
export const clock = { at: NOW };

export const NO_LIMITS: WorkspaceLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budget: null,
  perKey: null,
};

export function withLimits(base: RoutingTable, limits: Partial<WorkspaceLimits>): RoutingTable {
  const { w } = base.workspaces;
  if (w === undefined) throw new Error("no workspace");
  return { ...base, workspaces: { w: { ...w, limits: { ...NO_LIMITS, ...limits } } } };
}

export interface Limited {
  readonly router: Router;
  readonly store: MemoryLimitStore;
  readonly quotas: ReturnType<typeof createQuotas>;
}

type Decide = () => Promise<void>;

/** A router whose workspace, and key, have limits in a store in memory. */
export async function limited(
  base: RoutingTable,
  limits: Partial<WorkspaceLimits>,
  key?: KeyLimits,
  decide?: Decide,
): Promise<Limited> {
  const store = new MemoryLimitStore();
  const quotas = createQuotas({ store, holder: "router", now: () => clock.at, maxWait: 200 });
  const caller = {
    ...identity,
    scopes: new Set(["inference", "route:simulate"] as const),
    ...(key === undefined ? {} : { limits: key }),
  };
  return {
    router: await startRouter({
      table: withLimits(base, limits),
      identity: caller,
      runtime: {
        quotas,
        ...(decide === undefined ? {} : { evidence: evidenceOf(decide) }),
      },
    }),
    store,
    quotas,
  };
}
