import { loadConfiguration, type ConfigurationFiles } from "../../compile/load.ts";
import { isPostgresUrl } from "../../store/postgres/settings.ts";
import { LentThread } from "../../store/sqlite/shared/shared-thread.ts";
import {
  formatExposition,
  joinFamilies,
  readFamilies,
  single,
  type Family,
} from "../../telemetry/families.ts";
import { BUILD_VARIABLE } from "../build-id.ts";
import type { ServeOptions, Started } from "../running-server.ts";
import { startServer } from "../start.ts";
import { createWorkerPool, type WorkerPool } from "./worker-pool.ts";

/**
 * A server of several processes: this one has the store's thread, the admin listener, the files and
 * their reloading; workers serve the public side (docs/operations.md).
 *
 * @param say takes a line for operators. @throws as {@link startServer}.
 */
export async function startWorkers(
  options: ServeOptions,
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  say: (line: string) => void,
): Promise<Started> {
  const { database, log } = options;
  const sharing = { ...options, ...(log !== undefined && { log: { ...log, shared: true } }) };
  // PostgreSQL itself orders its writers, as it does for replicas.
  const thread = isPostgresUrl(database) ? null : new LentThread(say);
  let read: ConfigurationFiles | null = null;
  let good: ConfigurationFiles | null = null;
  const pool = createWorkerPool({
    // This process prunes, and waits before the drain, for all.
    options: { ...sharing, evidenceRetention: null, drainDelay: 0, workers: 1 },
    build: environment[BUILD_VARIABLE] ?? version,
    version,
    count: options.workers ?? 1,
    thread,
    say,
    files: () => {
      if (good === null) throw new Error("serve: workers before a configuration");
      return good;
    },
  });
  const started = await startServer(
    sharing,
    environment,
    version,
    {},
    {
      startThread: thread?.startThread,
      load: async () => {
        read = await loadConfiguration(options.config, options.config, options.environment ?? null);
        return read;
      },
      listenPublic: () => {
        good = read;
        return pool.listen();
      },
      runtime: (own, families) => ({
        ...own,
        accepting: () => own.accepting() && pool.isReady(),
        degraded: () => [...own.degraded(), ...(pool.isDegraded() ? ["workers"] : [])],
        workers: () => ({ worker: 0, ...pool.status() }),
        othersHealth: pool.endpointsHealth,
        metrics: async (accept) => {
          const first = readFamilies([...poolMetrics(pool), ...families()]);
          return formatExposition(joinFamilies([["0", first], ...(await pool.metrics())]), accept);
        },
      }),
    },
  );
  if (!started.ok) return started;
  const { server } = started;
  let turn: Promise<unknown> = Promise.resolve();
  const reloadAll: typeof server.reload = async () => {
    const built = await server.reload().catch((error: unknown) => {
      pool.reloadEnded(true);
      throw error;
    });
    pool.reloadEnded(!built.ok);
    if (!built.ok || read === null) return built;
    good = read;
    if (!(await pool.reload(good)))
      say("some workers could not load the new configuration and still serve the previous one");
    return built;
  };
  // One after the other, so that each worker loads the files that were checked.
  const reload: typeof server.reload = () => {
    const next = turn.then(reloadAll);
    turn = next.catch(() => undefined);
    return next;
  };
  return { ok: true, server: { ...server, reload } };
}

/** Metrics of the workers in the first process. */
export function poolMetrics(pool: Pick<WorkerPool, "status" | "restarts">): readonly Family[] {
  return [
    single(
      "gauge",
      "signalbox_workers_configured",
      "Configured worker processes.",
      () => pool.status().configured,
    ),
    single(
      "gauge",
      "signalbox_workers_ready",
      "Worker processes that take requests.",
      () => pool.status().ready,
    ),
    single(
      "counter",
      "signalbox_worker_restarts",
      "Workers started to replace one that had died.",
      pool.restarts,
    ),
  ];
}
