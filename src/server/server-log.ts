import type { Diagnostic } from "../canon/diagnostic.ts";
import type { CallKind } from "../canon/operation.ts";
import type { AlertEvent } from "../canon/table.ts";
import type { KeyFetchFailure } from "../canon/workload-identity.ts";
import type {
  EvidenceFault,
  EvidenceFaultCause,
  EvidenceHealth,
} from "../evidence/evidence-store.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import type { RequestObserver } from "../evidence/observer.ts";
import type { KeyChange } from "../keys/key-ring.ts";
import { requestLog, type JsonLog } from "../telemetry/log-record.ts";
import type { PolicyDrift } from "./policies/slots.ts";
import type { PolicyListener } from "./policies/served-policies.ts";
import type { RunningServer } from "./running-server.ts";
import type { LogOptions } from "./serve-options.ts";

/** How often the store's health is looked at, milliseconds. */
const LOOK = 1_000;

/** Longest wait for a slow reader at the end, milliseconds. */
const PATIENCE = 1_000;

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
  readonly dropped = (): number => this.#log?.dropped() ?? 0;

  readonly keyChanged = ({ id, workspace, change }: KeyChange): void => {
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
  ): void => {
    const endpoint = asIdentifier(endpointId);
    if (change === "ejected")
      this.#log?.write("warn", { event: "endpoint_ejected", endpoint, operation, ejections });
    else this.#log?.write("info", { event: "endpoint_readmitted", endpoint, operation, ejections });
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

  #drifts(drifts: readonly PolicyDrift[]): void {
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
      keys: keys.size(),
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

  /**
   * The result of a step of a reload. @throws what the step throws; the reload has failed then too.
   */
  orReloadFailed<Value>(step: () => Value): Value {
    try {
      return step();
    } catch (error) {
      this.#reloadFailed([]);
      throw error;
    }
  }

  /** @param diagnostics none where the store or the policy engine failed. */
  #reloadFailed(diagnostics: readonly Diagnostic[]): void {
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    const [first] = errors;
    this.#log?.write("error", {
      event: "reload_failed",
      errors: Math.max(1, errors.length),
      warnings: diagnostics.length - errors.length,
      code: first === undefined ? null : asIdentifier(first.code),
      file: first === undefined ? null : asIdentifier(first.file),
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
      if (state === "ok") log.write("info", { event: "store_recovered", waiting, refused, lost });
      else
        log.write("error", {
          event: "store_degraded",
          waiting,
          refused,
          lost,
          ...faultFields(fault),
        });
    }, LOOK);
    timer.unref();
    return () => clearInterval(timer);
  }

  async close(): Promise<void> {
    if (this.#hasStarted) this.#log?.write("info", { event: "stopped" });
    await this.#log?.close(PATIENCE);
  }
}

function faultFields(fault: EvidenceFault | undefined): {
  readonly cause?: EvidenceFaultCause;
  readonly file?: Identifier;
} {
  if (fault === undefined) return {};
  return { cause: fault.cause, ...(fault.file !== null && { file: asIdentifier(fault.file) }) };
}
