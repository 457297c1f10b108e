import type { CallKind } from "../canon/operation.ts";
import type { AlertEvent } from "../canon/table.ts";
import type { PolicySlot } from "../canon/policy.ts";
import type { KeyFetchFailure } from "../canon/workload-identity.ts";
import type { EvidenceFaultCause } from "../evidence/evidence-store.ts";
import type { EndedRequest, RequestObserver } from "../evidence/observer.ts";
import { endedAt, namesOf, type Identifier } from "../evidence/record.ts";

interface JsonLogOptions {
  readonly level: LogLevel;
  /** File descriptor; 1 is standard output. */
  readonly descriptor: number;
  /** Most bytes that wait for a slow reader; a line that does not fit is dropped. */
  readonly bufferBytes?: number;
  /**
   * Other processes write to the same pipe: no write is so long that another's may come into its
   * middle. Default false.
   */
  readonly shared?: boolean;
}

export interface JsonLog extends Log {
  /**
   * Lines that were not read in time; after the reader has gone, every line, and those that it may
   * not have read.
   */
  dropped(): number;
  /**
   * Writes waiting lines and closes the descriptor (not that of standard output), for at most
   * `patience` milliseconds.
   */
  close(patience: number): Promise<void>;
}

/** Largest atomic write to a pipe (PIPE_BUF), bytes. */
const ONE_PIECE = 4_096;

/** Some thousand lines. */
const BUFFER = 1024 * 1024;

/**
 * A log of JSON lines (pino). Lines are written beside the event loop, and wait in bounded memory:
 * a reader that does not read costs lines, and no request.
 */
export async function openJsonLog(options: JsonLogOptions): Promise<JsonLog> {
  const { pino } = await import("pino");
  let dropped = 0;
  /** Lines since nothing waited. */
  let waiting = 0;
  let isPipeClosed = false;
  let isClosing = false;
  let isAbandoned = false;
  const destination = pino.destination({
    fd: options.descriptor,
    sync: false,
    ...(options.shared === true && { maxWrite: ONE_PIECE }),
    maxLength: options.bufferBytes ?? BUFFER,
    // Tried again for ever, a line that a reader does not take would keep the process alive after
    // its log was closed.
    retryEAGAIN: () => !isAbandoned,
  });
  destination.on("drop", () => {
    dropped += 1;
    waiting -= 1;
  });
  destination.on("drain", () => (waiting = 0));
  // Without a listener an error of the descriptor would end the process.
  destination.on("error", (error: NodeJS.ErrnoException) => {
    // Of other errors, such as a full disk, the next line tries again.
    if (error.code !== "EPIPE" || isPipeClosed) return;
    isPipeClosed = true;
    dropped += waiting;
  });
  const lines = {
    write(line: string): void {
      if (isPipeClosed || isClosing) {
        dropped += 1;
      } else {
        waiting += 1;
        destination.write(line);
      }
    },
  };
  const logger = pino(
    {
      level: options.level,
      // The host's name and the like are the collector's to add.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  );
  return {
    write: (level, record) => logger[level](record),
    takes: (level) => logger.isLevelEnabled(level),
    dropped: () => dropped,
    close: (patience) =>
      new Promise((resolve) => {
        const abandon = () => {
          isAbandoned = true;
          destination.destroy();
          resolve();
        };
        isClosing = true;
        if (isPipeClosed || isAbandoned) return abandon();
        // Destroyed, it keeps no process alive that a reader has left.
        const timer = setTimeout(abandon, patience);
        destination.once("close", () => {
          clearTimeout(timer);
          resolve();
        });
        destination.end();
      }),
  };
}

/** A line for every request that has evidence. */
export function requestLog(log: Log): RequestObserver {
  return {
    began: () => {},
    ended: (_, request) => {
      if (request === null) return;
      const line = requestLine(request);
      log.write(levelOf(line), line);
      for (const { endpoint, provider, flag } of request.outcome.attempts) {
        if (flag === undefined) continue;
        log.write("warn", {
          event: "flag_missing",
          request_id: line.request_id,
          endpoint,
          provider,
          flag,
        });
      }
      if (log.takes("debug"))
        for (const attempt of attemptLines(request)) log.write("debug", attempt);
    },
  };
}

/** Failures of the router and of providers are warnings; denials and clients' mistakes are not. */
function levelOf({ terminal, status }: ReturnType<typeof requestLine>): LogLevel {
  return terminal === "failed" || status >= 500 ? "warn" : "info";
}

/** One for each request that has evidence, when it has ended. */
export function requestLine({ decision, outcome, traceId }: EndedRequest) {
  const ended = endedAt(outcome);
  return {
    event: "request",
    request_id: decision.requestId,
    /** 32 hexadecimal digits. */
    trace_id: traceId,
    operation: decision.operation,
    route: decision.route,
    workspace: decision.workspace,
    key_id: decision.keyId,
    outcome: decision.outcome,
    /** Of a denial or a refusal. */
    reason: decision.reason,
    policy: decision.policy,
    constraint: decision.constraint,
    terminal: outcome.terminal,
    status: outcome.status,
    stream: decision.stream,
    /**
     * The answering provider: several names, joined by commas, where a batch was sent in parts.
     * Without an answer, the last attempt's.
     */
    endpoint: namesOf(ended, "endpoint"),
    provider: namesOf(ended, "provider"),
    region: namesOf(ended, "region"),
    attempts: outcome.attempts.reduce((sum, { calls = 1 }) => sum + calls, 0),
    input_tokens: outcome.inputTokens,
    output_tokens: outcome.outputTokens,
    total_ms: outcome.total,
    router_ms: outcome.router,
    first_byte_ms: outcome.firstByte,
  } as const;
}

/** One for each attempt; on level debug. */
function attemptLines({ decision, outcome }: EndedRequest) {
  return outcome.attempts.map(
    ({ endpoint, provider, region, failure, status, duration, calls = 1 }) =>
      ({
        event: "attempt",
        request_id: decision.requestId,
        endpoint,
        provider,
        region,
        failure,
        status,
        duration_ms: duration,
        calls,
      }) as const,
  );
}

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * One line of the log: identifiers, enums, numbers and booleans.
 * `test/telemetry/log-record.test-d.ts` proves that no member takes free text, so no prompt, key
 * and no error text of others can get into a log. All durations are milliseconds.
 */
export type LogRecord =
  | ReturnType<typeof requestLine>
  | ReturnType<typeof attemptLines>[number]
  | {
      /**
       * A provider refused a member of a request, which a flag in its row keeps out of later ones.
       */
      readonly event: "flag_missing";
      readonly request_id: Identifier;
      readonly endpoint: Identifier;
      readonly provider: Identifier;
      readonly flag: Identifier;
    }
  | {
      readonly event: "started";
      readonly version: Identifier;
      readonly table: Identifier;
      readonly port: number;
      readonly admin_port: number;
      readonly keys: number;
    }
  | { readonly event: "reloaded"; readonly table: Identifier }
  | {
      readonly event: "reload_failed";
      readonly errors: number;
      readonly warnings: number;
      /** Of the first error; `null` where it is in no file of the configuration. */
      readonly code: Identifier | null;
      readonly file: Identifier | null;
      readonly line: number | null;
    }
  | {
      /** Another set of policies decides under the same table. */
      readonly event: "policies_swapped";
      readonly policy_set: Identifier;
    }
  | {
      /** A content that the policy log puts into a slot, and whose bytes cannot be had. */
      readonly event: "policy_unusable";
      readonly policy: Identifier;
      readonly revision: Identifier;
      readonly slot: PolicySlot;
    }
  | {
      /** A candidate that is not evaluated any more: its evaluations took more than they may. */
      readonly event: "policy_suspended";
      readonly policy: Identifier;
      readonly revision: Identifier;
    }
  /** The running set differs from the policy log, or matches it again. */
  | { readonly event: "policies_degraded" | "policies_recovered" }
  | {
      /** The files of this server and the slots of the log differ. */
      readonly event: "policy_drift";
      readonly policy: Identifier;
      readonly drift: Identifier;
    }
  | {
      readonly event: "key_changed";
      readonly key_id: Identifier;
      readonly workspace: Identifier;
      readonly change: "added" | "revoked";
    }
  | {
      /** The keys of an issuer of workloads could not be fetched; its id in routes.yaml. */
      readonly event: "issuer_keys_unavailable";
      readonly issuer: Identifier;
      readonly cause: KeyFetchFailure;
    }
  /** A message of `alerts` was not delivered; the next check sends it again. */
  | { readonly event: "alert_failed"; readonly alert: AlertEvent }
  | {
      readonly event: "endpoint_ejected" | "endpoint_readmitted";
      readonly endpoint: Identifier;
      /** The calls that it no longer gets, or gets again. */
      readonly operation: CallKind;
      /** Since the start of the process. */
      readonly ejections: number;
    }
  | {
      readonly event: "store_degraded" | "store_recovered";
      readonly waiting: number;
      readonly refused: number;
      readonly lost: number;
      /** The database's fault, and the name of its file. */
      readonly cause?: EvidenceFaultCause;
      readonly file?: Identifier;
    }
  | { readonly event: "draining"; readonly in_flight: number }
  | { readonly event: "stopped" };

/** Where lines go. Does not wait, does not throw. */
export interface Log {
  write(level: LogLevel, record: LogRecord): void;
  /** Whether a line of this level would be written. */
  takes(level: LogLevel): boolean;
}
