import type { Diagnostic } from "../canon/diagnostic.ts";
import type { AlertEvent } from "../canon/table.ts";
import type { CallKind } from "../canon/operation.ts";
import type { KeyFetchFailure } from "../canon/workload-identity.ts";
import type {
  EvidenceFault,
  EvidenceFaultCause,
  EvidenceHealth,
} from "../evidence/evidence-store.ts";
import type { BeginTrace, RequestObserver } from "../evidence/observer.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import type { KeyChange } from "../keys/key-ring.ts";
import { StartError } from "./start-error.ts";
import type { PolicyListener } from "./policies/served-policies.ts";
import type { PolicyDrift } from "./policies/slots.ts";
import type { LogOptions, RunningServer } from "./running-server.ts";
import { statusMetrics, type StatusSources } from "./status-metrics.ts";
import { formatExposition, type Family } from "../telemetry/families.ts";
import { type JsonLog, requestLog } from "../telemetry/log-record.ts";
import type { Otlp } from "../telemetry/open-otlp.ts";
import {
  OtlpSettingError,
  readOtlpSettings,
  type OtlpSettings,
} from "../telemetry/otlp-settings.ts";
import { processMetrics } from "../telemetry/process-metrics.ts";
import { RequestMetrics } from "../telemetry/request-metrics.ts";
import { passTraceOn } from "../telemetry/trace-context.ts";

/** How often the store's health is looked at, milliseconds. */
const CHECK_INTERVAL = 1_000;

/** Longest wait for a slow reader at the end, milliseconds. */
const LOG_CLOSE_TIME = 1_000;

/** The log lines of one server about itself. Does nothing without a log. */
export class ServerLog {
  readonly #log: JsonLog | null;
  #hasStarted = false;
  readonly observer: RequestObserver | null;

  constructor(log: JsonLog | null) {
    this.#log = log;
    this.observer = log === null ? null : requestLog(log);
  }

  static async open({ format, level, shared = false }: LogOptions): Promise<ServerLog> {
    if (format === "text") return new ServerLog(null);
    const { openJsonLog } = await import("../telemetry/log-record.ts");
    return new ServerLog(await openJsonLog({ level, descriptor: 1, shared }));
  }

  /** Lines that no reader took in time. */
  readonly dropped = () => this.#log?.dropped() ?? 0;

  readonly keyChanged = ({ id, workspace, change }: KeyChange) => {
    this.#log?.write("info", {
      event: "key_changed",
      key_id: asIdentifier(id),
      workspace: asIdentifier(workspace),
      change,
    });
  };

  readonly endpointChanged = (
    endpointId: string,
    change: "ejected" | "readmitted",
    ejections: number,
    operation: CallKind,
  ) => {
    const level = change === "ejected" ? "warn" : "info";
    const endpoint = asIdentifier(endpointId);
    this.#log?.write(level, { event: `endpoint_${change}`, endpoint, operation, ejections });
  };

  readonly issuerKeysFailed = (issuer: string, cause: KeyFetchFailure): void =>
    this.#log?.write("warn", {
      event: "issuer_keys_unavailable",
      issuer: asIdentifier(issuer),
      cause,
    });

  readonly alertFailed = (alert: AlertEvent): void =>
    this.#log?.write("warn", { event: "alert_failed", alert });

  readonly policies: PolicyListener = {
    swapped: ({ id }) =>
      this.#log?.write("info", { event: "policies_swapped", policy_set: asIdentifier(id) }),
    failed: (contents) => {
      for (const { identity } of contents) {
        const { id, revision, slot } = identity;
        this.#log?.write("error", {
          event: "policy_unusable",
          policy: asIdentifier(id),
          revision: asIdentifier(`r${revision}`),
          slot,
        });
      }
      this.#log?.write("error", { event: "policies_degraded" });
    },
    recovered: () => this.#log?.write("info", { event: "policies_recovered" }),
    differing: (drift) => this.#drifts([drift]),
    suspended: ({ id, revision }) =>
      this.#log?.write("warn", {
        event: "policy_suspended",
        policy: asIdentifier(id),
        revision: asIdentifier(`r${revision}`),
      }),
  };

  #drifts(drifts: readonly PolicyDrift[]) {
    for (const { policy, drift } of drifts)
      this.#log?.write("warn", {
        event: "policy_drift",
        policy: asIdentifier(policy),
        drift: asIdentifier(drift),
      });
  }

  started({ url, adminUrl, built, keys }: RunningServer, version: string): void {
    this.#hasStarted = true;
    this.#log?.write("info", {
      event: "started",
      version: asIdentifier(version),
      table: asIdentifier(built.snapshot.decider.table.revision),
      port: Number(new URL(url).port),
      admin_port: Number(new URL(adminUrl).port),
      keys: keys.size,
    });
    this.#drifts(built.drifts);
  }

  reloaded(
    built:
      | RunningServer["built"]
      | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] },
  ): void {
    if (built.ok) {
      this.#log?.write("info", {
        event: "reloaded",
        table: asIdentifier(built.snapshot.decider.table.revision),
      });
      this.#drifts(built.drifts);
    } else {
      this.#reloadFailed(built.diagnostics);
    }
  }

  /** The result of a step of a reload. @throws the step's error; the reload has failed then too. */
  orReloadFailed<Value>(step: () => Value): Value {
    try {
      return step();
    } catch (error) {
      this.#reloadFailed([]);
      throw error;
    }
  }

  /** @param diagnostics none where the store or the policy engine failed. */
  #reloadFailed(diagnostics: readonly Diagnostic[]) {
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    const [first] = errors;
    this.#log?.write("error", {
      event: "reload_failed",
      errors: Math.max(1, errors.length),
      warnings: diagnostics.length - errors.length,
      code: asIdentifier(first?.code ?? null),
      file: asIdentifier(first?.file ?? null),
      line: first?.line ?? null,
    });
  }

  draining(inFlight: number): void {
    this.#log?.write("info", { event: "draining", in_flight: inFlight });
  }

  /**
   * Checks the store from time to time, and logs when it fails and when it recovers. Returns the
   * function that stops it.
   */
  watchStore(health: () => EvidenceHealth): () => void {
    const log = this.#log;
    if (log === null) return () => {};
    let known: EvidenceHealth["state"] = "ok";
    const timer = setInterval(() => {
      const { state, waiting, refused, lost, fault } = health();
      if (state === known) return;
      known = state;
      const counts = { waiting, refused, lost };
      if (state === "ok") log.write("info", { event: "store_recovered", ...counts });
      else log.write("error", { event: "store_degraded", ...counts, ...faultFields(fault) });
    }, CHECK_INTERVAL);
    timer.unref();
    return () => clearInterval(timer);
  }

  async close(): Promise<void> {
    if (this.#hasStarted) this.#log?.write("info", { event: "stopped" });
    await this.#log?.close(LOG_CLOSE_TIME);
  }
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

/** Metrics, logs and traces of one server, made from its evidence. */
export class ServerTelemetry {
  readonly metrics = new ServerMetrics();
  readonly log: ServerLog;
  readonly observer: RequestObserver;
  readonly beginTrace: BeginTrace;
  readonly #otlp: Otlp | null;
  #sources: Sources | null = null;

  private constructor(
    log: ServerLog,
    openOtlp: ((modelOf: (endpointId: string) => string | null) => Otlp) | null,
  ) {
    this.log = log;
    this.#otlp = openOtlp?.((endpointId) => this.#modelOf(endpointId)) ?? null;
    this.observer = observers([this.metrics.requests, log.observer, this.#otlp?.observer ?? null]);
    this.beginTrace = this.#otlp?.beginTrace ?? passTraceOn;
  }

  /** @throws {StartError} for a variable that cannot be used. */
  static async open(
    log: LogOptions,
    environment: Environment,
    version: string,
  ): Promise<ServerTelemetry> {
    const settings = otlpSettings(environment);
    // Most routers export nothing, and the SDK takes its time to load.
    const library = settings === null ? null : await import("../telemetry/open-otlp.ts");
    const opened = await ServerLog.open(log);
    if (settings === null || library === null) return new ServerTelemetry(opened, null);
    return new ServerTelemetry(opened, (modelOf) => library.openOtlp(settings, version, modelOf));
  }

  /** Call it when the sources can be read. Returns the function that stops all reading. */
  begin(sources: Sources): () => Promise<void> {
    this.#sources = sources;
    const droppedSpans = () => this.#otlp?.droppedSpans() ?? 0;
    const stopMetrics = this.metrics.begin({
      ...sources,
      droppedLines: this.log.dropped,
      droppedSpans,
    });
    const stopLooking = this.log.watchStore(() => sources.evidence.health());
    return () => {
      stopMetrics();
      stopLooking();
      return Promise.resolve();
    };
  }

  readonly close = async () => {
    await this.#otlp?.close(OTLP_CLOSE_TIME);
    await this.log.close();
  };

  #modelOf(endpointId: string) {
    return (
      this.#sources?.runtime.snapshots.current.decider.table.endpoints[endpointId]?.upstreamModel ??
      null
    );
  }
}

/** Calls several observers; the only one of them itself. */
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
export class ServerMetrics {
  readonly requests = new RequestMetrics();
  #families: readonly Family[] = this.requests.families;

  get families(): readonly Family[] {
    return this.#families;
  }

  /** @param accept the request's header of that name. */
  readonly page = (accept: string | undefined) => formatExposition(this.#families, accept);

  /** Adds the metrics of a running server. Returns the function that removes them. */
  begin(sources: StatusSources): () => void {
    const { families, stop } = processMetrics();
    this.#families = [...this.requests.families, ...statusMetrics(sources), ...families];
    return stop;
  }
}
