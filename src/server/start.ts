import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ConfigurationFiles } from "../compile/load.ts";
import { connectionPools } from "../dispatch/connections.ts";
import { endpointsHealth } from "../http/control/endpoints-health.ts";
import { healthSettingsOf, SnapshotHolder } from "../http/snapshot.ts";
import type { Runtime } from "../http/runtime.ts";
import type { ServerLimits } from "../http/capacity.ts";
import { EndpointTracker, startProber } from "../dispatch/endpoint-tracker.ts";
import { keyRevocations, StopOrder } from "../dispatch/stop-order.ts";
import { listen, type Listening, type ListenOptions } from "../http/listen.ts";
import { newRequestId } from "../http/heads.ts";
import { createApp } from "../http/server.ts";
import { openKeyRing, type OpenKeyRing } from "../keys/key-ring.ts";
import { openTokenExchange } from "../keys/tokens/token-exchange.ts";
import { ruleHolder } from "../keys/workload-tokens.ts";
import { openConsole } from "./console.ts";
import { type AddressFlags, listenFailure, StartError } from "./start-error.ts";
import {
  openQuotas,
  openStore,
  openWorkloads,
  requiredProxy,
  ServerParts,
  startPolicies,
} from "./parts.ts";
import type { LogOptions, ServeOptions, Started } from "./running-server.ts";
import { foldedRefusals, meteredEvidence, type Retention, startRetention } from "./evidence.ts";
import type { PolicyListener, ServedPolicies } from "./policies/served-policies.ts";
import type { BuiltSnapshot } from "./snapshots.ts";
import { lazyMock } from "./simulated-provider.ts";
import { expiryOf, readTls } from "./tls.ts";
import { secretReader, startAlerts } from "./alerts.ts";
import { jsonPoster } from "../dispatch/fetch-json.ts";
import { type Family, readFamilies } from "../telemetry/families.ts";
import { openServerTelemetry, serverLog, type ServerTelemetry } from "./server-telemetry.ts";
import { stickyKeys } from "../dispatch/balance.ts";
import { storedPolicies } from "../governance/summary-answer.ts";
import type { SummaryStore } from "../governance/increments.ts";
import { DEPLOYED_CONTRACT } from "../http/contract/openapi.ts";
import { SimulationRate } from "../http/control/simulate.ts";
import { SummaryTurns } from "../http/control/governance-summary.ts";
import { manageKeys } from "../keys/key-management.ts";
import { budgetLevels } from "../limits/usage.ts";
import type { Store } from "../store/port.ts";
import { BUILD_VARIABLE } from "./build-id.ts";

/** How a process differs that serves together with others; everything absent: it serves alone. */
interface ProcessRole {
  /** One of several that serve the public side; another process has the admin listener. */
  readonly isWorker?: true;
  /** The store's thread, where several processes share it. */
  readonly startThread?: Parameters<typeof openStore>[2];
  /** Reads the configuration's files. */
  readonly load?: () => Promise<ConfigurationFiles>;
  /** Workers serve the public side. */
  readonly listenPublic?: () => Promise<Listening>;
  /** Replaces members of the runtime that concern the other processes. */
  readonly runtime?: (runtime: Runtime, families: () => readonly Family[]) => Runtime;
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
 * @param version the package's version. @param environment `SIGNALBOX_BUILD_ID` of it names the
 * build in /status; default: the version.
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
  const parts = new ServerParts();
  try {
    const started = await startParts(parts, options, environment, version, limits, role);
    if (!started.ok) await parts.stop();
    return started;
  } catch (error) {
    await parts.stop().catch(() => undefined);
    throw error;
  }
}

/** Every part in the order of its start; they stop in reverse. */
async function startParts(
  parts: ServerParts,
  options: ServeOptions,
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  limits: Partial<ServerLimits>,
  role: ProcessRole,
): Promise<Started> {
  const { isWorker = false } = role;
  const readCertificate = () =>
    options.tls === undefined ? undefined : readTls(options.tls, Date.now());
  const tls = readCertificate();
  let certificateExpiry = tls === undefined ? null : expiryOf(tls);
  const findProxy = options.egressProxy === true ? requiredProxy(environment) : null;
  const telemetry = await parts.start(
    "telemetry",
    () => openServerTelemetry(options.log ?? TEXT, environment, version),
    (started) => started.close(),
    SLOW_TIME,
  );
  // One process logs events that reach all of them.
  const log = isWorker ? serverLog(null) : telemetry.log;
  const store = await parts.start(
    "the store",
    () => openStore(options.database, options.evidence, role.startThread),
    (opened) => opened.close(),
    SLOW_TIME,
  );
  const retention = await parts.start(
    "retention",
    () => startRetention(store.evidence, options.evidenceRetention ?? null, Date.now),
    (started) => started.stop(),
  );
  const mock = await parts.start("the simulated provider", lazyMock, (started) => started.close());
  const pools = await parts.start(
    "connections to providers",
    () => connectionPools(undefined, findProxy),
    (opened) => opened.destroy(),
  );
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
  if (!built.ok) return built;
  const snapshots = new SnapshotHolder(built.snapshot);
  const table = () => snapshots.current.decider.table;
  const revocations = keyRevocations(
    (keyId) => keys.isRevoked(keyId),
    (workspace) => table().workspaces[workspace]?.onRevoke ?? "end",
  );
  const keys = await parts.start(
    "keys",
    () =>
      openKeyRing(store.keys, (changed) => {
        log.keyChanged(changed);
        if (changed.change === "revoked") revocations.revoked(changed.id, changed.workspace);
      }),
    (opened) => opened.close(),
  );
  const findRule = (callerId: string) => ruleHolder(table().workloadIdentity, callerId);
  const tokens = await parts.start(
    "tokens",
    () => openTokenExchange(keys, findRule, store.issuers, Date.now, randomBytes),
    (opened) => opened.close(),
  );
  const limited = await parts.start(
    "limits",
    () => openQuotas(store.limits),
    (opened) => opened.close(),
  );
  const refusals = await parts.start(
    "sums of refusals",
    () =>
      foldedRefusals(
        meteredEvidence(store.evidence, tokens.spend),
        () => store.evidence.health().state === "ok",
        newRequestId,
        Date.now,
      ),
    (started) => started.close(),
  );
  const state = { accepting: true, reloadFailed: false };
  const stopOrder = new StopOrder();
  const console = openConsole(options, environment, store, keys, tokens, findProxy);
  const defaultRuntime = makeRuntime({
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
  const runtime = role.runtime?.(defaultRuntime, telemetry.metrics.families) ?? defaultRuntime;
  await parts.start(
    "metrics",
    () =>
      telemetry.begin({
        runtime,
        evidence: store.evidence,
        keyCount: () => keys.size,
        keysExpiring: keys.expiring,
        certificateExpiry: () => certificateExpiry,
        version,
      }),
    (stop) => stop(),
  );
  if (!isWorker) {
    await parts.start(
      "alerts",
      () =>
        startAlerts(
          {
            table,
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
        ),
      (stop) => stop(),
      SLOW_TIME,
    );
  }
  if (role.listenPublic === undefined) {
    const probed = () => ({ table: table(), connections: snapshots.current.connections });
    await parts.start(
      "probes",
      () => startProber(runtime.endpoints, probed),
      (stop) => stop(),
    );
  }
  policies.listen(log.policies);
  await parts.start(
    "policies",
    () => policies.follow(snapshots),
    (stop) => stop(),
    SLOW_TIME,
  );
  // The admin listener is opened first, so that it is closed last: /readyz answers while the public
  // one drains.
  const admin = isWorker
    ? null
    : await parts.start(
        "the admin listener",
        () => listenOn(runtime, "admin", options.adminHost, options.adminPort),
        (listening) => listening.close(0),
      );
  // Streams whose clients left are read on without a connection of ours, and are settled before the
  // limits are closed.
  await parts.start(
    "requests",
    () => snapshots,
    (running) => running.idle(),
  );
  const { host, port, maxConnections, keepAlive } = options;
  const main = await parts.start(
    "the public listener",
    role.listenPublic ??
      (() => listenOn(runtime, "public", host, port, { tls, maxConnections, keepAlive })),
    (listening) => listening.close(options.drain, () => stopOrder.give()),
    options.drain + LISTENER_TIME,
  );

  const reload = async (): Promise<BuiltSnapshot> => {
    let isApplied = false;
    try {
      const renewed = log.orReloadFailed(readCertificate);
      const next = await policies.reload();
      isApplied = next.ok;
      if (next.ok && renewed !== undefined) {
        main.renewTls(renewed);
        certificateExpiry = expiryOf(renewed);
      }
      if (next.ok) runtime.endpoints.retain(Object.keys(next.snapshot.decider.table.endpoints));
      log.reloaded(next);
      return next;
    } finally {
      state.reloadFailed = !isApplied;
    }
  };
  const retire = () => {
    state.accepting = false;
    main.retire();
  };
  const close = once(async () => {
    retire();
    log.draining(snapshots.users);
    // Load balancers have so long to see that this server is not ready; it serves meanwhile.
    await delay(options.drainDelay ?? 0);
    await parts.stop();
  });
  // Where workers serve the page, a code of this process would be unknown to them.
  const servesConsole = role.listenPublic === undefined || options.console === "admin";
  const server = {
    url: main.url,
    adminUrl: admin?.url ?? "",
    store,
    keys,
    built,
    policies: policies.administration,
    signInCode: servesConsole ? (console?.signInCode ?? null) : null,
    reload,
    watchPolicies: (listener: PolicyListener) => policies.listen(listener),
    metrics: () => readFamilies(telemetry.metrics.families()),
    endpointsHealth: () => endpointsHealth(runtime.endpoints, Object.keys(table().endpoints)),
    retire,
    close,
  };
  log.started(server, version);
  return { ok: true, server };
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

function makeRuntime({
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
  ...parts
}: RuntimeParts): Runtime {
  const { snapshots, quotas } = parts;
  const turns = new SummaryTurns();
  const read: SummaryStore["read"] = (query) => store.summary.read(query);
  return {
    ...parts,
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
