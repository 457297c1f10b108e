import { randomUUID } from "node:crypto";
import type { Diagnostic } from "../../canon/diagnostic.ts";
import { ConnectionPools } from "../../dispatch/connections.ts";
import { contractSha256, openApiDocument } from "../../http/contract/openapi.ts";
import { SnapshotHolder, type Runtime, type ServerLimits } from "../../http/runtime.ts";
import { createApp, listen } from "../../http/server.ts";
import { openKeyRing, type OpenKeyRing } from "../../keys/key-ring.ts";
import { startMock, type MockServer } from "../../mock/server.ts";
import type { Store } from "../../store/port.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import type { ServeOptions } from "./options.ts";
import { buildSnapshot, type BuiltSnapshot } from "./snapshots.ts";

/** A running server: what `signalbox serve` starts, and what tests start in their own process. */
export interface RunningServer {
  readonly url: string;
  readonly adminUrl: string;
  readonly store: Store;
  readonly keys: OpenKeyRing;
  readonly built: Extract<BuiltSnapshot, { ok: true }>;
  /** Compiles the files again; swaps on success, keeps what runs on failure. */
  reload(): Promise<BuiltSnapshot>;
  /** Lets requests in flight end, writes the last records, closes everything. Safe to call twice. */
  close(): Promise<void>;
}

export type Started =
  | { readonly ok: true; readonly server: RunningServer }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: 32 * 1024 * 1024,
  answerBytes: 32 * 1024 * 1024,
  requestTime: 15 * 60_000,
  bodyTime: 60_000,
};

/**
 * Opens the store, compiles the configuration, listens.
 *
 * @param version the package's version; part of the contract.
 * @throws what the store or a listener throws: a file that cannot be opened, an address in use.
 */
export async function startServer(
  options: ServeOptions,
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  limits: Partial<ServerLimits> = {},
): Promise<Started> {
  const store = await openSqliteStore({ path: options.database });
  const pools = new ConnectionPools();
  const mock = lazyMock();
  const supply = {
    config: options.config,
    cacheDirectory: options.cacheDirectory,
    environment,
    store,
    pools,
    simulatedBaseUrl: mock.baseUrl,
  };
  const releaseAll = async (): Promise<void> => {
    await pools.destroy();
    await mock.close();
    await store.close();
  };
  try {
    const built = await buildSnapshot(supply);
    if (!built.ok) {
      await releaseAll();
      return built;
    }
    const keys = await openKeyRing(store.keys);
    const snapshots = new SnapshotHolder(built.snapshot);
    const state = { accepting: true, reloadFailed: false };
    const runtime = makeRuntime({ environment, version, store, keys, snapshots, state, limits });
    const publicListener = await listen(createApp(runtime, "public"), options.host, options.port);
    const adminListener = await listen(createApp(runtime, "admin"), options.adminHost, options.adminPort);
    const reload = serialised(async () => {
      const next = await buildSnapshot(supply);
      state.reloadFailed = !next.ok;
      if (next.ok) snapshots.swap(next.snapshot);
      return next;
    });
    const close = once(async () => {
      state.accepting = false;
      await publicListener.close(options.drain);
      await adminListener.close(0);
      await keys.close();
      await releaseAll();
    });
    const urls = { url: publicListener.url, adminUrl: adminListener.url };
    return { ok: true, server: { ...urls, store, keys, built, reload, close } };
  } catch (error) {
    await releaseAll();
    throw error;
  }
}

interface RuntimeParts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly store: Store;
  readonly keys: OpenKeyRing;
  readonly snapshots: SnapshotHolder;
  readonly state: { readonly accepting: boolean; readonly reloadFailed: boolean };
  readonly limits: Partial<ServerLimits>;
}

function makeRuntime(parts: RuntimeParts): Runtime {
  const { environment, version, store, keys, snapshots, state } = parts;
  const document = openApiDocument(version);
  return {
    snapshots,
    verify: (token, now) => keys.verify(token, now),
    evidence: { decide: (record) => store.evidence.decide(record), settle: (record) => store.evidence.settle(record) },
    newRequestId,
    limits: { ...DEFAULT_LIMITS, ...parts.limits },
    build: {
      id: environment["SIGNALBOX_BUILD_ID"] ?? version,
      contractSha256: contractSha256(document),
      contract: JSON.stringify(document),
      startedAt: performance.now(),
    },
    degraded: () => [
      ...(state.reloadFailed ? ["reload_failed"] : []),
      ...(store.evidence.health().state === "ok" ? [] : ["evidence"]),
    ],
    accepting: () => state.accepting,
  };
}

/**
 * `req_`, the time in milliseconds, and 80 random bits, all hexadecimal: rising with time, so that the store's index is written at its end
 * and not all over.
 */
function newRequestId(): string {
  return `req_${Date.now().toString(16).padStart(12, "0")}${randomUUID().replaceAll("-", "").slice(-20)}`;
}

/** The simulated upstream, started when it is first needed. */
function lazyMock(): { readonly baseUrl: () => Promise<string>; readonly close: () => Promise<void> } {
  let started: Promise<MockServer> | null = null;
  return {
    baseUrl: async () => {
      started ??= startMock({ host: "127.0.0.1", port: 0 });
      return `${(await started).url}/v1`;
    },
    close: async () => {
      if (started !== null) await (await started).close();
    },
  };
}

/** Runs calls one after the other, so that two changes of the files cannot swap in the wrong order. */
function serialised<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => (running ??= work());
}
