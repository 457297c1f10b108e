import { stickyKeys } from "../../src/dispatch/balance.ts";
import { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";
import type { Tokens } from "../../src/canon/credentials/narrowing.ts";
import { StopOrder } from "../../src/dispatch/stop-order.ts";
import type { Runtime } from "../../src/http/runtime.ts";
import { healthSettingsOf, type SnapshotHolder } from "../../src/http/snapshot.ts";
import { SimulationRate } from "../../src/http/control/simulate.ts";
import { createQuotas } from "../../src/limits/quotas.ts";
import { MemoryLimitStore } from "../limits/memory-store.ts";
import { budgetLevels } from "../../src/limits/usage.ts";

/** A part that the test does not give: the first use of a member fails and names it. */
function notGiven(part: string): never {
  const refuse = (_target: object, member: string | symbol): never => {
    throw new Error(`the test gives no ${part}, and ${String(member)} of it is used`);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every use throws
  return new Proxy({}, { get: refuse }) as never;
}

function noTokens(): never {
  throw new Error("the test gives no tokens");
}

const NO_TOKENS: Tokens = {
  isToken: () => false,
  allowsOrigin: () => false,
  verify: noTokens,
  reached: noTokens,
  take: noTokens,
  prepare: noTokens,
};

/**
 * What a router needs beside keys and evidence: limits in memory, no other store, no tokens, no
 * console.
 */
export function runtimeOver(
  snapshots: SnapshotHolder,
  given: Partial<Runtime> & Pick<Runtime, "verify" | "evidence" | "newRequestId">,
): Runtime {
  const limits = new MemoryLimitStore();
  return {
    snapshots,
    recognise: () => null,
    lookUp: () => Promise.resolve(false),
    tokens: NO_TOKENS,
    revocations: { orderOf: () => new StopOrder() },
    stopOrder: new StopOrder(),
    quotas: createQuotas({ store: limits, holder: "test", now: Date.now }),
    budgets: budgetLevels(limits, Date.now),
    endpoints: new EndpointTracker(healthSettingsOf(snapshots)),
    stickyKeyOf: stickyKeys(),
    evidenceStatus: () => ({ state: "ok" }),
    observer: { began: () => {}, ended: () => {} },
    beginTrace: null,
    limits: {
      bodyBytes: 1_000_000,
      answerBytes: 1_000_000,
      requestTime: 10_000,
      bodyTime: 500,
      writeTime: 2_000,
    },
    keys: notGiven("keys"),
    workloads: notGiven("workloads"),
    policies: notGiven("policies"),
    decisions: {
      read: () => Promise.reject(new Error("no store")),
      search: () => Promise.reject(new Error("no store")),
      processes: () => Promise.resolve([]),
    },
    summary: notGiven("summary"),
    simulationRate: new SimulationRate(),
    metrics: () => ({ contentType: "text/plain", text: "" }),
    othersHealth: () => Promise.resolve([]),
    workers: null,
    build: { id: "test", contract: { sha256: "c", text: "{}" }, startedAt: performance.now() },
    degraded: () => [],
    accepting: () => true,
    console: null,
    ...given,
  };
}
