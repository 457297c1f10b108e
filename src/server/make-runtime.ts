import { randomBytes } from "node:crypto";
import { EndpointTracker } from "../dispatch/endpoint-tracker.ts";
import { stickyKeys } from "../dispatch/balance.ts";
import { storedPolicies } from "../governance/summary-answer.ts";
import type { SummaryStore } from "../governance/increments.ts";
import { DEPLOYED_CONTRACT } from "../http/contract/openapi.ts";
import { newRequestId } from "../http/heads.ts";
import { SimulationRate } from "../http/control/simulate.ts";
import { SummaryTurns } from "../http/control/governance-summary.ts";
import { healthSettingsOf } from "../http/snapshot.ts";
import type { Runtime } from "../http/runtime.ts";
import type { ServerLimits } from "../http/capacity.ts";
import { manageKeys } from "../keys/key-management.ts";
import type { OpenKeyRing } from "../keys/key-ring.ts";
import { budgetLevels } from "../limits/usage.ts";
import type { Store } from "../store/port.ts";
import type { ServedPolicies } from "./policies/served-policies.ts";
import { BUILD_VARIABLE } from "./build-id.ts";
import type { Retention } from "./evidence.ts";
import type { ServerTelemetry } from "./server-telemetry.ts";

const DEFAULT_LIMITS: ServerLimits = {
  inFlight: 2_000,
  bodyBytes: 32 * 1024 * 1024,
  answerBytes: 32 * 1024 * 1024,
  requestTime: 15 * 60_000,
  bodyTime: 60_000,
  writeTime: 60_000,
};

/** The opened parts of a server. */
interface RuntimeParts extends Pick<
  Runtime,
  | "snapshots"
  | "workloads"
  | "evidence"
  | "quotas"
  | "stopOrder"
  | "revocations"
  | "console"
  | "tokens"
> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly store: Store;
  readonly policies: ServedPolicies;
  readonly keys: OpenKeyRing;
  readonly state: { readonly accepting: boolean; readonly reloadFailed: boolean };
  readonly retention: Retention;
  readonly limits: Partial<ServerLimits>;
  readonly telemetry: ServerTelemetry;
  readonly egressProxies: readonly string[] | undefined;
}

export function makeRuntime({
  environment,
  version,
  store,
  policies,
  keys,
  state,
  retention,
  limits,
  telemetry,
  egressProxies,
  ...own
}: RuntimeParts): Runtime {
  const { snapshots, quotas } = own;
  const turns = new SummaryTurns();
  const read: SummaryStore["read"] = (query) => store.summary.read(query);
  return {
    ...own,
    verify: keys.verify,
    recognise: keys.recognise,
    lookUp: keys.lookUp,
    observer: telemetry.observer,
    beginTrace: telemetry.beginTrace,
    metrics: telemetry.metrics.page,
    evidenceStatus: store.evidence.health,
    decisions: store.evidence,
    summary: {
      read,
      policies: async () => storedPolicies(await policies.administration.lifecycle.refresh()),
      head: () => store.evidence.health().head,
      turns,
      limitUsage: (now) => store.limits.read(now),
      currentKeys: keys.current,
    },
    policies: {
      ...policies.administration,
      rows: (query) => store.policyLog.read(query),
      shadow: {
        read,
        workspaces: () => store.summary.workspaces(),
        evidence: store.evidence,
        turns,
      },
    },
    budgets: budgetLevels(store.limits, Date.now),
    simulationRate: new SimulationRate(),
    endpoints: new EndpointTracker(healthSettingsOf(snapshots), telemetry.log.endpointChanged),
    stickyKeyOf: stickyKeys(),
    keys: manageKeys(store.keys, Date.now, randomBytes),
    newRequestId,
    limits: { ...DEFAULT_LIMITS, ...limits },
    build: {
      id: environment[BUILD_VARIABLE] ?? version,
      contract: DEPLOYED_CONTRACT,
      startedAt: performance.now(),
      egressProxies,
    },
    degraded: () => [
      ...(state.reloadFailed ? ["reload_failed"] : []),
      ...(store.evidence.health().state === "ok" ? [] : ["evidence"]),
      ...(retention.failed() ? ["evidence_retention"] : []),
      ...(quotas.state === "ok" ? [] : ["limits"]),
      ...(policies.isBehind() ? ["policies"] : []),
      ...(policies.administration.differing().size > 0 ? ["policy_modules"] : []),
      ...(policies.administration.suspended().length > 0 ? ["suspended_policies"] : []),
    ],
    accepting: () => state.accepting,
    othersHealth: () => Promise.resolve([]),
    workers: null,
  };
}
