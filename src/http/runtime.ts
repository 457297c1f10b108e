import type { Identity } from "../canon/identity.ts";
import type { EndpointTracker } from "../dispatch/endpoint-tracker.ts";
import type { StopOrder, Revocations } from "../dispatch/stop-order.ts";
import type { StickyKeyOf } from "../dispatch/balance.ts";
import type { EvidenceHealth, EvidenceStore } from "../evidence/evidence-store.ts";
import type { RequestObserver, BeginTrace } from "../evidence/observer.ts";
import type { OutcomeRecord } from "../evidence/record.ts";
import type { EndpointsHealth } from "./control/endpoints-health.ts";
import type { SummarySource } from "./control/governance-summary.ts";
import type { Console } from "./console/console-port.ts";
import type { PolicyAdministration } from "./control/policies/administration.ts";
import type { KeyManagement } from "../canon/credentials/service-key.ts";
import type { SimulationRate } from "./control/simulate.ts";
import type { BudgetLevels } from "../limits/usage.ts";
import type { Quotas } from "../limits/quotas.ts";
import type { ServerLimits } from "./capacity.ts";
import type { SnapshotHolder } from "./snapshot.ts";
import type { KeyVerification, Tokens } from "../canon/credentials/narrowing.ts";
import type {
  AdmittedWorkload,
  WorkloadFault,
  WorkloadIdentity,
} from "../canon/workload-identity.ts";

/** Bytes of a request's body, and sent bytes of its answer; 0 where there was none. */
export interface RequestSizes {
  readonly request: number;
  readonly answer: number;
}

/**
 * Everything outside a request that handling it needs: plain records of functions, so that tests
 * can replace each.
 */
export interface RequestRuntime {
  readonly snapshots: SnapshotHolder;
  /** @param token the key's text, without a scheme. @param now milliseconds since the epoch. */
  readonly verify: (token: string, now: number) => KeyVerification;
  /**
   * Whose key it is, whatever its state: revoked and expired keys too. `null` where the secret is
   * wrong. For records only.
   */
  readonly recognise: (token: string) => Identity | null;
  /**
   * Looks in the store for a key that `verify` did not know, at most a few times a second. True: it
   * is known now, verify again. Never rejects.
   */
  readonly lookUp: (token: string) => Promise<boolean>;
  /** Exchanged tokens. */
  readonly tokens: Tokens;
  /** Ends the requests of keys that are revoked. */
  readonly revocations: Pick<Revocations, "orderOf">;
  /** Given when the time of the drain is over. */
  readonly stopOrder: StopOrder;
  readonly quotas: Quotas;
  /** Remaining budget of a caller, for policies. */
  readonly budgets: BudgetLevels;
  readonly endpoints: EndpointTracker;
  readonly stickyKeyOf: StickyKeyOf;
  readonly evidence: {
    readonly begin: EvidenceStore["begin"];
    readonly settle: (record: OutcomeRecord, sizes: RequestSizes) => void;
  };
  /** Health of the store as far as this process knows without a query. */
  readonly evidenceStatus: () => EvidenceStatus;
  /** Called for every request, with its evidence. */
  readonly observer: RequestObserver;
  /** `null` where no traces are exported or passed on. */
  readonly beginTrace: BeginTrace | null;
  readonly newRequestId: () => string;
  readonly limits: ServerLimits;
}

/** Control endpoints also need the stores and the state of the server. */
interface ControlRuntime {
  readonly keys: KeyManagement;
  /** Judges JWTs of workloads. */
  readonly workloads: Workloads;
  readonly policies: PolicyAdministration;
  readonly decisions: Pick<EvidenceStore, "read" | "search" | "processes">;
  readonly summary: SummarySource;
  readonly simulationRate: SimulationRate;
  /** The page of `GET /metrics`. @param accept the request's header of that name. */
  readonly metrics: (accept: string | undefined) => MetricsPage | Promise<MetricsPage>;
  /** Endpoint health in the other processes of this server, those that answer in time. */
  readonly othersHealth: () => Promise<readonly EndpointsHealth[]>;
  /** This process among several that serve together; `null` where it serves alone. */
  readonly workers: (() => WorkerStatus) | null;
  readonly build: BuildFacts;
  /** Names of components that do not work as they should; empty when all is well. */
  readonly degraded: () => readonly string[];
  /** False while the process drains. */
  readonly accepting: () => boolean;
  /** The operators' pages and their sessions; `null` where no listener serves them. */
  readonly console: Console | null;
}

export interface Runtime extends RequestRuntime, ControlRuntime {}

/** Counts of worker processes, for `/status`. */
interface WorkerStatus {
  readonly worker: number;
  readonly configured: number;
  readonly ready: number;
}

interface MetricsPage {
  readonly contentType: string;
  readonly text: string;
}

export type EvidenceStatus = Pick<EvidenceHealth, "state" | "fault">;

interface BuildFacts {
  readonly id: string;
  readonly contract: { readonly sha256: string; readonly text: string };
  /** On the clock of `performance.now()`. */
  readonly startedAt: number;
  /** Forward proxies of calls to providers: scheme, host and port; absent: calls are direct. */
  readonly egressProxies?: readonly string[] | undefined;
}

export interface Workloads {
  /** Never rejects. */
  readonly admit: (
    jwt: string,
    rules: WorkloadIdentity,
  ) => Promise<AdmittedWorkload | WorkloadFault>;
}
