import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ConfigurationFiles } from "../compile/load.ts";
import { ConnectionPools } from "../dispatch/connections.ts";
import { jsonPoster } from "../dispatch/fetch-json.ts";
import { endpointsHealth } from "../http/control/endpoints-health.ts";
import { SnapshotHolder } from "../http/snapshot.ts";
import type { Runtime } from "../http/runtime.ts";
import type { ServerLimits } from "../http/capacity.ts";
import { startProber } from "../dispatch/endpoint-tracker.ts";
import { StopOrder, Revocations } from "../dispatch/stop-order.ts";
import { listen, type ListenOptions, type Listening, type TlsMaterial } from "../http/listen.ts";
import { newRequestId } from "../http/heads.ts";
import { createApp } from "../http/server.ts";
import { openKeyRing } from "../keys/key-ring.ts";
import { openTokenExchange } from "../keys/tokens/token-exchange.ts";
import { ruleHolder } from "../keys/workload-tokens.ts";
import type { Store } from "../store/port.ts";
import { openConsole } from "./console.ts";
import {
  openQuotas,
  Opened,
  openWorkloads,
  requiredProxy,
  startPolicies,
  openStore,
} from "./opened.ts";
import { listenFailure, type AddressFlags, StartError } from "./start-error.ts";
import { makeRuntime, type RuntimeParts } from "./make-runtime.ts";
import type { Started, LogOptions, ServeOptions } from "./running-server.ts";
import { foldedRefusals, meteredEvidence, startRetention } from "./evidence.ts";
import type { PolicyListener } from "./policies/served-policies.ts";
import type { BuiltSnapshot } from "./snapshots.ts";
import { lazyMock } from "./simulated-provider.ts";
import { expiryOf, readTls } from "./tls.ts";
import { secretReader, startAlerts } from "./alerts.ts";
import { ServerLog, ServerTelemetry } from "./server-telemetry.ts";
import type { WorkersStatus } from "./workers/messages.ts";

/** What a process does otherwise that serves together with others. */
interface ProcessRole {
  readonly openStore?: () => Promise<Store>;
  /** Reads the configuration's files. */
  readonly load?: () => Promise<ConfigurationFiles>;
  /** Has others serve the public side. */
  readonly listenPublic?: () => Promise<Listening>;
  readonly runtime?: (own: Runtime) => Runtime;
  /**
   * One of several that serve the public side: another process has the admin listener, and logs
   * events that reach all of them.
   */
  readonly worker?: {
    readonly number: number;
    readonly status: () => WorkersStatus;
    readonly reloadFailed: () => boolean;
  };
}

/**
 * Milliseconds: more than the 5 s in which the store's thread may end, the 4 s of the collector and
 * the log, and a reload under way.
 */
const SLOW_TIME = 6_000;

/** Milliseconds beyond the drain, longer than the 10 s after which workers are killed. */
const LISTENER_TIME = 12_000;

const TEXT: LogOptions = { format: "text", level: "info" };

/**
 * Opens the store, compiles the configuration, listens.
 *
 * @param version the package's version. @param environment `SIGNALBOX_BUILD_ID` of it is what
 * /status calls the build; the version where it has none.
 * @throws {StoreUnavailableError}
 * @throws {StartError} naming the flag of an address that cannot be listened on. Everything that
 * was opened before is closed.
 */
export async function startServer(
  options: ServeOptions,
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  limits: Partial<ServerLimits> = {},
  role: ProcessRole = {},
): Promise<Started> {
  const opened = new Opened();
  try {
    return await open(opened, options, environment, version, limits, role);
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

async function open(
  opened: Opened,
  options: ServeOptions,
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  limits: Partial<ServerLimits>,
  role: ProcessRole,
): Promise<Started> {
  const tlsNow = (): TlsMaterial | undefined =>
    options.tls === undefined ? undefined : readTls(options.tls, Date.now());
  const tls = tlsNow();
  let certificateExpiry = tls === undefined ? null : expiryOf(tls);
  const telemetry = await ServerTelemetry.open(options.log ?? TEXT, environment, version);
  opened.add("telemetry", telemetry.close, SLOW_TIME);
  // One process logs events that reach all of them.
  const log = role.worker === undefined ? telemetry.log : new ServerLog(null);
  const store = await (role.openStore ?? (() => openStore(options.database, options.evidence)))();
  opened.add("the store", () => store.close(), SLOW_TIME);
  const retention = startRetention(store.evidence, options.evidenceRetention ?? null, Date.now);
  opened.add("retention", () => Promise.resolve(retention.stop()));
  const findProxy = options.egressProxy === true ? requiredProxy(environment) : null;
  const pools = new ConnectionPools(undefined, findProxy);
  const mock = lazyMock();
  opened.add("the simulated provider", mock.close);
  opened.add("connections to providers", () => pools.destroy());
  const supply = {
    config: options.config,
    overlay: options.environment ?? null,
    load: role.load,
    cache: options.cache,
    environment,
    pools,
    findProxy,
    simulatedOrigin: mock.origin,
  };
  const { policies, built } = await startPolicies(supply, store.policyLog);
  if (!built.ok) {
    await opened.close();
    return built;
  }
  let revocations: Revocations | null = null;
  const keys = await openKeyRing(store.keys, (changed) => {
    log.keyChanged(changed);
    if (changed.change === "revoked") revocations?.revoked(changed.id, changed.workspace);
  });
  opened.add("keys", keys.close);
  const snapshots = new SnapshotHolder(built.snapshot);
  const findRule = (callerId: string) =>
    ruleHolder(snapshots.current.decider.table.workloadIdentity, callerId);
  const tokens = await openTokenExchange(keys, findRule, store.issuers, Date.now, randomBytes);
  opened.add("tokens", () => Promise.resolve(tokens.close()));
  const limited = openQuotas(store.limits);
  opened.add("limits", limited.close);
  const metered = meteredEvidence(store.evidence, tokens.spend);
  const refusals = foldedRefusals(
    metered,
    () => store.evidence.health().state === "ok",
    newRequestId,
    Date.now,
  );
  opened.add("sums of refusals", refusals.close);
  const state = { accepting: true, reloadFailed: false };
  const stopOrder = new StopOrder();
  revocations = new Revocations(
    keys.isRevoked,
    (workspace) => snapshots.current.decider.table.workspaces[workspace]?.onRevoke ?? "end",
  );
  const console = openConsole(options, environment, store, keys, tokens, findProxy);
  const runtime = runtimeOf(role, {
    environment,
    version,
    store,
    policies,
    keys,
    snapshots,
    state,
    retention,
    limits: { ...options.limits, ...limits },
    telemetry,
    tokens,
    workloads: openWorkloads(telemetry.log, findProxy),
    evidence: refusals.evidence,
    quotas: limited.quotas,
    stopOrder,
    revocations,
    console: console?.runtime ?? null,
    egressProxies: findProxy?.origins,
  });
  opened.add(
    "metrics",
    telemetry.begin({
      runtime,
      evidence: store.evidence,
      keyCount: keys.size,
      keysExpiring: keys.expiring,
      certificateExpiry: () => certificateExpiry,
      version,
    }),
  );
  if (role.worker === undefined) {
    const stopAlerts = startAlerts(
      {
        table: () => snapshots.current.decider.table,
        budgets: runtime.budgets,
        keysExpiring: keys.expiring,
        certificateExpiry: () => certificateExpiry,
        evidence: () => store.evidence.health(),
        summary: store.summary,
        limits: store.limits,
      },
      {
        post: jsonPoster(findProxy),
        secretOf: secretReader(options.config, environment),
        failed: log.alertFailed,
        now: Date.now,
      },
    );
    opened.add("alerts", stopAlerts, SLOW_TIME);
  }
  if (role.listenPublic === undefined) {
    const stopProbes = startProber(runtime.endpoints, () => {
      const { decider, connections } = snapshots.current;
      return { table: decider.table, connections };
    });
    opened.add("probes", () => Promise.resolve(stopProbes()));
  }
  policies.listen(log.policies);
  opened.add("policies", await policies.follow(snapshots), SLOW_TIME);
  // The admin listener is opened first, so that it is closed last: /readyz answers while the public
  // one drains.
  const admin =
    role.worker === undefined
      ? await listenOn(runtime, "admin", options.adminHost, options.adminPort)
      : null;
  opened.add("the admin listener", async () => admin?.close(0));
  // Streams whose clients left are read on without a connection of ours, and are settled before the
  // limits are closed.
  opened.add("requests", () => snapshots.idle());
  const { host, port, maxConnections, keepAlive } = options;
  const listenPublic =
    role.listenPublic ??
    (() => listenOn(runtime, "public", host, port, { tls, maxConnections, keepAlive }));
  const main = await listenPublic();
  opened.add(
    "the public listener",
    () => main.close(options.drain, () => stopOrder.give()),
    options.drain + LISTENER_TIME,
  );
  const reload = async (): Promise<BuiltSnapshot> => {
    let isDone = false;
    try {
      const renewed = log.orReloadFailed(tlsNow);
      const next = await policies.reload();
      isDone = next.ok;
      if (next.ok && renewed !== undefined) {
        main.renewTls(renewed);
        certificateExpiry = expiryOf(renewed);
      }
      if (next.ok) runtime.endpoints.retain(Object.keys(next.snapshot.decider.table.endpoints));
      log.reloaded(next);
      return next;
    } finally {
      state.reloadFailed = !isDone;
    }
  };
  const retire = (): void => {
    state.accepting = false;
    main.retire();
  };
  const close = once(async () => {
    retire();
    log.draining(snapshots.users);
    // Balancers have so long to see that this server is not ready, and go on being served
    // meanwhile.
    await delay(options.drainDelay ?? 0);
    await opened.close();
  });
  const watchPolicies = (listener: PolicyListener): void => policies.listen(listener);
  // Where workers serve the page, a code of this process would be unknown to them.
  const servesConsole = role.listenPublic === undefined || options.console === "admin";
  const signInCode = servesConsole ? (console?.signInCode ?? null) : null;
  const own = { store, keys, built, policies: policies.administration, signInCode };
  const { metrics } = runtime;
  const server = {
    url: main.url,
    adminUrl: admin?.url ?? "",
    ...own,
    reload,
    watchPolicies,
    metrics,
    endpointsHealth: () =>
      endpointsHealth(runtime.endpoints, Object.keys(snapshots.current.decider.table.endpoints)),
    retire,
    close,
  };
  log.started(server, version);
  return { ok: true, server };
}

/** The settings of one process among several. */
function runtimeOf({ worker, runtime }: ProcessRole, parts: RuntimeParts): Runtime {
  const own = makeRuntime(parts);
  if (runtime !== undefined) return runtime(own);
  if (worker === undefined) return own;
  const { number, status, reloadFailed } = worker;
  const missesSome = (): boolean => status().ready < status().configured;
  return {
    ...own,
    workers: () => ({ worker: number, ...status() }),
    degraded: () => [
      ...new Set([
        ...own.degraded(),
        ...(reloadFailed() ? ["reload_failed"] : []),
        ...(missesSome() ? ["workers"] : []),
      ]),
    ],
  };
}

const FLAGS: Readonly<Record<"public" | "admin", AddressFlags>> = {
  public: { host: "--host", port: "--port" },
  admin: { host: "--admin-host", port: "--admin-port" },
};

async function listenOn(
  runtime: Runtime,
  name: "public" | "admin",
  host: string,
  port: number,
  options?: ListenOptions,
): Promise<Listening> {
  try {
    return await listen(createApp(runtime, name), host, port, runtime.newRequestId, options);
  } catch (error) {
    throw new StartError(listenFailure(error, FLAGS[name]), { cause: error });
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => (running ??= work());
}
