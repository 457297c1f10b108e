import { StartError } from "./start-error.ts";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { StoreUnavailableError } from "../canon/error.ts";
import { proxyFromEnvironment, type FindProxy } from "../dispatch/egress-proxy.ts";
import { jsonFetcher } from "../dispatch/fetch-json.ts";
import { EvidenceUnavailableError } from "../evidence/evidence-store.ts";
import type { Workloads } from "../http/runtime.ts";
import type { WorkloadTokens } from "../keys/workload-tokens.ts";
import { PolicyLogError } from "../lifecycle/fold.ts";
import { openLifecycle } from "../lifecycle/open-lifecycle.ts";
import { ToolchainError } from "../policy/toolchain/protocol.ts";
import type { PolicyLogStore } from "../lifecycle/records.ts";
import type { BuiltSnapshot, SnapshotSupply } from "./snapshots.ts";
import type { LimitStore } from "../limits/limit-store.ts";
import { createQuotas, type Quotas } from "../limits/quotas.ts";
import { servePolicies, type ServedPolicies } from "./policies/served-policies.ts";
import { ContentUnusableError } from "./policies/slots.ts";
import type { ServerLog } from "./server-telemetry.ts";
import type { EvidenceLimits } from "../store/evidence-queue.ts";
import type { Store } from "../store/port.ts";
import { isPostgresUrl } from "../store/postgres/settings.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";

/** How long a part may take to stop, milliseconds. */
const STOP_TIME = 2_000;

interface StartedPart {
  readonly name: string;
  readonly stop: () => unknown;
  readonly limit: number;
}

/** The parts of a running server: started one after the other, stopped in reverse order. */
export class ServerParts {
  readonly #started: StartedPart[] = [];

  /**
   * Starts a part.
   *
   * @param stop is called when the server stops, after all later parts have stopped. @param limit
   * how long it may take, milliseconds.
   */
  async start<Part>(
    name: string,
    start: () => Part | Promise<Part>,
    stop: (part: Part) => unknown,
    limit: number = STOP_TIME,
  ): Promise<Part> {
    const part = await start();
    this.#started.push({ name, stop: () => stop(part), limit });
    return part;
  }

  /**
   * Stops every part, even if another fails to stop or does not end in time.
   *
   * @throws {StartError} naming the parts that failed or are open after their limit, when all have
   * been tried.
   */
  async stop(): Promise<void> {
    const open: string[] = [];
    for (const { name, stop, limit } of this.#started.splice(0).toReversed()) {
      const over = new AbortController();
      const late = delay(limit, `still open after ${limit / 1_000} s`, {
        signal: over.signal,
      }).catch(() => null);
      const stopped = (async () => await stop())().then(() => null, reasonOf);
      const failure = await Promise.race([stopped, late]);
      over.abort();
      if (failure !== null) open.push(`${name} (${failure})`);
    }
    if (open.length > 0) throw new StartError(`stopped, but not closed: ${open.join(", ")}`);
  }
}

/** Other errors may quote the text that they failed on. */
function reasonOf(error: unknown): string {
  const hasSafeMessage =
    error instanceof EvidenceUnavailableError ||
    error instanceof StoreUnavailableError ||
    error instanceof StartError;
  return hasSafeMessage ? error.message : "failed";
}

/** How often idle amounts go back and leases are renewed. Milliseconds. */
const SWEEP = 1_000;

/**
 * How often old counters are deleted, milliseconds, and how many at a time: a few milliseconds of
 * the store.
 */
const PRUNE = 600_000;
const BATCH = 500;

/** Deletes old counters, batch by batch. A failed batch is retried the next time. Never rejects. */
export async function forgetOld(store: Pick<LimitStore, "prune">, now: number): Promise<void> {
  try {
    while ((await store.prune(now, BATCH)) >= BATCH);
  } catch {}
}

/** Quotas over the store's limits, swept until it is closed. */
export function openQuotas(store: LimitStore): {
  readonly quotas: Quotas;
  readonly close: () => Promise<void>;
} {
  const quotas = createQuotas({ store, holder: randomUUID(), now: Date.now });
  const sweep = setInterval(() => void quotas.sweep(), SWEEP);
  const prune = setInterval(() => void forgetOld(store, Date.now()), PRUNE);
  sweep.unref();
  prune.unref();
  return {
    quotas,
    close() {
      clearInterval(sweep);
      clearInterval(prune);
      return quotas.close();
    },
  };
}

/** @throws {StartError} without a usable proxy in the environment: calls would go out directly. */
export function requiredProxy(
  environment: Readonly<Record<string, string | undefined>>,
): FindProxy {
  let found: FindProxy | null;
  try {
    found = proxyFromEnvironment(environment);
  } catch (error) {
    throw new StartError("--egress-proxy: HTTPS_PROXY or HTTP_PROXY is no http or https URL", {
      cause: error,
    });
  }
  if (found === null)
    throw new StartError("--egress-proxy: set HTTPS_PROXY or HTTP_PROXY, or leave the flag out");
  return found;
}

/**
 * Judges JWTs of workloads; loaded with the first of them, because most configurations have no
 * rules.
 */
export function openWorkloads(log: ServerLog, findProxy: FindProxy | null): Workloads {
  let loaded: Promise<WorkloadTokens> | null = null;
  const load = async (): Promise<WorkloadTokens> => {
    const { createWorkloadTokens } = await import("../keys/workload-tokens.ts");
    return createWorkloadTokens(
      jsonFetcher(findProxy),
      Date.now,
      () => performance.now(),
      log.issuerKeysFailed,
    );
  };
  return { admit: async (jwt, rules) => (await (loaded ??= load())).admit(jwt, rules) };
}

/**
 * Reads the policy log and makes the first snapshot.
 *
 * @throws {StartError} with the reason why the server cannot start. @throws {StoreUnavailableError}
 */
export async function startPolicies(
  supply: SnapshotSupply,
  log: PolicyLogStore,
): Promise<{ readonly policies: ServedPolicies; readonly built: BuiltSnapshot }> {
  try {
    const policies = servePolicies(supply, log, await openLifecycle(log, Date.now));
    return { policies, built: await policies.start() };
  } catch (error) {
    if (
      error instanceof ContentUnusableError ||
      error instanceof PolicyLogError ||
      error instanceof ToolchainError
    )
      throw new StartError(error.message, { cause: error });
    throw error;
  }
}

/**
 * Opens a store for a server.
 *
 * @param database path of an SQLite file, or a URL of PostgreSQL
 * @param evidence other bounds than the usual ones
 * @param startThread the thread of SQLite that several processes share; one of its own unless given
 *
 * @throws {StoreUnavailableError}
 */
export async function openStore(
  database: string,
  evidence: Partial<EvidenceLimits> = {},
  startThread?: Parameters<typeof openSqliteStore>[0]["startThread"],
): Promise<Store> {
  if (!isPostgresUrl(database)) {
    const options = { path: database, evidence };
    return await openSqliteStore(
      startThread === undefined ? { ...options, refuseCutEnd: true } : { ...options, startThread },
    );
  }
  // Most servers never need it.
  const { openPostgresStore } = await import("../store/postgres/open.ts");
  return await openPostgresStore({ url: database, evidence });
}
