import type { Diagnostic } from "../canon/diagnostic.ts";
import type { AlertEvent } from "../canon/table.ts";
import type { CallKind } from "../canon/operation.ts";
import type { KeyFetchFailure } from "../canon/workload-identity.ts";
import type {
  EvidenceFault,
  EvidenceFaultCause,
  EvidenceHealth,
} from "../evidence/evidence-store.ts";
import type { RequestObserver } from "../evidence/observer.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import type { KeyChange } from "../keys/key-ring.ts";
import { StartError } from "./start-error.ts";
import type { PolicyListener } from "./policies/served-policies.ts";
import type { PolicyDrift } from "./policies/slots.ts";
import type { LogOptions, RunningServer } from "./running-server.ts";
import { statusMetrics, type StatusSources } from "./status-metrics.ts";
import { formatExposition, type Family } from "../telemetry/families.ts";
import { type JsonLog, requestLog } from "../telemetry/log-record.ts";
import {
  OtlpSettingError,
  readOtlpSettings,
  type OtlpSettings,
} from "../telemetry/otlp-settings.ts";
import { processMetrics } from "../telemetry/process-metrics.ts";
import { requestMetrics } from "../telemetry/request-metrics.ts";
import { passTraceOn } from "../telemetry/trace-context.ts";

/** How often the store's health is looked at, milliseconds. */
const CHECK_INTERVAL = 1_000;

/** Longest wait for a slow reader at the end, milliseconds. */
const LOG_CLOSE_TIME = 1_000;

export type ServerLog = ReturnType<typeof serverLog>;

/** The log lines of one server about itself. Does nothing without a log. */
export function serverLog(log: JsonLog | null) {
  let hasStarted = false;

  function writeDrifts(drifts: readonly PolicyDrift[]) {
    for (const { policy, drift } of drifts)
      log?.write("warn", {
        event: "policy_drift",
        policy: asIdentifier(policy),
        drift: asIdentifier(drift),
      });
  }

  /** @param diagnostics none where the store or the policy engine failed. */
  function reloadFailed(diagnostics: readonly Diagnostic[]) {
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    const [first] = errors;
    log?.write("error", {
      event: "reload_failed",
      errors: Math.max(1, errors.length),
      warnings: diagnostics.length - errors.length,
      code: asIdentifier(first?.code ?? null),
      file: asIdentifier(first?.file ?? null),
      line: first?.line ?? null,
    });
  }

  return {
    observer: log === null ? null : requestLog(log),
    /** Lines that no reader took in time. */
    dropped: () => log?.dropped() ?? 0,

    keyChanged: ({ id, workspace, change }: KeyChange) =>
      log?.write("info", {
        event: "key_changed",
        key_id: asIdentifier(id),
        workspace: asIdentifier(workspace),
        change,
      }),

    endpointChanged: (
      endpointId: string,
      change: "ejected" | "readmitted",
      ejections: number,
      operation: CallKind,
    ) => {
      const level = change === "ejected" ? "warn" : "info";
      const endpoint = asIdentifier(endpointId);
      log?.write(level, { event: `endpoint_${change}`, endpoint, operation, ejections });
    },

    issuerKeysFailed: (issuer: string, cause: KeyFetchFailure): void =>
      log?.write("warn", {
        event: "issuer_keys_unavailable",
        issuer: asIdentifier(issuer),
        cause,
      }),

    alertFailed: (alert: AlertEvent): void => log?.write("warn", { event: "alert_failed", alert }),

    policies: {
      swapped: ({ id }) =>
        log?.write("info", { event: "policies_swapped", policy_set: asIdentifier(id) }),
      failed: (contents) => {
        for (const { identity } of contents) {
          const { id, revision, slot } = identity;
          log?.write("error", {
            event: "policy_unusable",
            policy: asIdentifier(id),
            revision: asIdentifier(`r${revision}`),
            slot,
          });
        }
        log?.write("error", { event: "policies_degraded" });
      },
      recovered: () => log?.write("info", { event: "policies_recovered" }),
      differing: (drift) => writeDrifts([drift]),
      suspended: ({ id, revision }) =>
        log?.write("warn", {
          event: "policy_suspended",
          policy: asIdentifier(id),
          revision: asIdentifier(`r${revision}`),
        }),
    } satisfies PolicyListener,

    started({ url, adminUrl, built, keys }: RunningServer, version: string): void {
      hasStarted = true;
      log?.write("info", {
        event: "started",
        version: asIdentifier(version),
        table: asIdentifier(built.snapshot.decider.table.revision),
        port: Number(new URL(url).port),
        admin_port: Number(new URL(adminUrl).port),
        keys: keys.size,
      });
      writeDrifts(built.drifts);
    },

    reloaded(
      built:
        | RunningServer["built"]
        | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] },
    ): void {
      if (built.ok) {
        log?.write("info", {
          event: "reloaded",
          table: asIdentifier(built.snapshot.decider.table.revision),
        });
        writeDrifts(built.drifts);
      } else reloadFailed(built.diagnostics);
    },

    /**
     * The result of a step of a reload. @throws the step's error; the reload has failed then too.
     */
    orReloadFailed<Value>(step: () => Value): Value {
      try {
        return step();
      } catch (error) {
        reloadFailed([]);
        throw error;
      }
    },

    draining(inFlight: number): void {
      log?.write("info", { event: "draining", in_flight: inFlight });
    },

    /**
     * Checks the store from time to time, and logs when it fails and when it recovers. Returns the
     * function that stops it.
     */
    watchStore(health: () => EvidenceHealth): () => void {
      if (log === null) return () => {};
      let reported: EvidenceHealth["state"] = "ok";
      const timer = setInterval(() => {
        const { state, waiting, refused, lost, fault } = health();
        if (state === reported) return;
        reported = state;
        const counts = { waiting, refused, lost };
        if (state === "ok") log.write("info", { event: "store_recovered", ...counts });
        else log.write("error", { event: "store_degraded", ...counts, ...faultFields(fault) });
      }, CHECK_INTERVAL);
      timer.unref();
      return () => clearInterval(timer);
    },

    async close(): Promise<void> {
      if (hasStarted) log?.write("info", { event: "stopped" });
      await log?.close(LOG_CLOSE_TIME);
    },
  };
}

function faultFields(fault: EvidenceFault | undefined): {
  readonly cause?: EvidenceFaultCause;
  readonly file?: Identifier;
} {
  if (fault === undefined) return {};
  return { cause: fault.cause, ...(fault.file !== null && { file: asIdentifier(fault.file) }) };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Longest wait for the collector at the end, milliseconds. */
const OTLP_CLOSE_TIME = 2_000;

export type ServerTelemetry = Awaited<ReturnType<typeof openServerTelemetry>>;

/**
 * Metrics, logs and traces of one server, made from its evidence.
 *
 * @throws {StartError} for a variable that cannot be used.
 */
export async function openServerTelemetry(
  { format, level, shared = false }: LogOptions,
  environment: Environment,
  version: string,
) {
  const settings = otlpSettings(environment);
  // Most routers export nothing, and the SDK takes its time to load.
  const library = settings === null ? null : await import("../telemetry/open-otlp.ts");
  const json =
    format === "text"
      ? null
      : await (
          await import("../telemetry/log-record.ts")
        ).openJsonLog({ level, descriptor: 1, shared });
  let sources: Sources | null = null;
  const log = serverLog(json);
  const metrics = serverMetrics();
  const modelOf = (endpointId: string) =>
    sources?.runtime.snapshots.current.decider.table.endpoints[endpointId]?.upstreamModel ?? null;
  const otlp =
    settings === null || library === null ? null : library.openOtlp(settings, version, modelOf);
  return {
    log,
    metrics,
    observer: observers([metrics.requests, log.observer, otlp?.observer ?? null]),
    beginTrace: otlp?.beginTrace ?? passTraceOn,
    /** Call it when the sources can be read. Returns the function that stops all reading. */
    begin(read: Sources): () => Promise<void> {
      sources = read;
      const stopMetrics = metrics.begin({
        ...read,
        droppedLines: log.dropped,
        droppedSpans: () => otlp?.droppedSpans() ?? 0,
      });
      const stopLooking = log.watchStore(read.evidence.health);
      return () => {
        stopMetrics();
        stopLooking();
        return Promise.resolve();
      };
    },
    async close(): Promise<void> {
      await otlp?.close(OTLP_CLOSE_TIME);
      await log.close();
    },
  };
}

/** One observer that calls several; a single observer is returned unchanged. */
export function observers(all: readonly (RequestObserver | null)[]): RequestObserver {
  const present = all.filter((one) => one !== null);
  const [first, ...others] = present;
  if (first !== undefined && others.length === 0) return first;
  return {
    began: (operation) => {
      for (const one of present) one.began(operation);
    },
    ended: (operation, request) => {
      for (const one of present) one.ended(operation, request);
    },
    unrouted: (status) => {
      for (const one of present) one.unrouted?.(status);
    },
  };
}

type Sources = Omit<StatusSources, "droppedLines" | "droppedSpans">;

function otlpSettings(environment: Environment): OtlpSettings | null {
  try {
    return readOtlpSettings(environment);
  } catch (error) {
    if (error instanceof OtlpSettingError) throw new StartError(error.message);
    throw error;
  }
}

/** Everything that one server exposes at `GET /metrics`. */
export function serverMetrics() {
  const requests = requestMetrics();
  let families: readonly Family[] = requests.families;
  return {
    requests,
    families: () => families,
    /** @param accept the request's header of that name. */
    page: (accept: string | undefined) => formatExposition(families, accept),
    /** Adds the metrics of a running server. Returns the function that removes them. */
    begin(sources: StatusSources): () => void {
      const ofProcess = processMetrics();
      families = [...requests.families, ...statusMetrics(sources), ...ofProcess.families];
      return ofProcess.stop;
    },
  };
}
