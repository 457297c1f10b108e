import type { CallKind } from "../canon/operation.ts";
import type { FailureKind } from "../canon/failure.ts";
import type { KeyFetchFailure } from "../canon/workload-identity.ts";
import type { PolicySlot } from "../canon/policy.ts";
import type { DecisionRecord, Terminal, Identifier } from "../evidence/record.ts";
import type { EvidenceFaultCause } from "../evidence/evidence-store.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * One line of the log: identifiers, enums, numbers and booleans.
 * `test/telemetry/log-record.test-d.ts` proves that no member takes free text, so no prompt, key
 * and no error text of others can get into a log. All durations are milliseconds.
 */
export type LogRecord =
  | RequestLine
  | AttemptLine
  | MissingFlagLine
  | {
      readonly event: "started";
      readonly version: Identifier;
      readonly table: Identifier;
      readonly port: number;
      readonly admin_port: number;
      readonly keys: number;
    }
  | { readonly event: "reloaded"; readonly table: Identifier }
  | { readonly event: "reload_failed"; readonly errors: number }
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
      /** What happened to the database, and the name of its file. */
      readonly cause?: EvidenceFaultCause;
      readonly file?: Identifier;
    }
  | { readonly event: "draining"; readonly in_flight: number }
  | { readonly event: "stopped" };

/** A provider refused a member of a request, which a flag in its row keeps out of later ones. */
interface MissingFlagLine {
  readonly event: "flag_missing";
  readonly request_id: Identifier;
  readonly endpoint: Identifier;
  readonly provider: Identifier;
  readonly flag: Identifier;
}

/** One for each request that has evidence, when it has ended. */
export interface RequestLine {
  readonly event: "request";
  readonly request_id: Identifier;
  /** 32 hexadecimal digits. */
  readonly trace_id: Identifier | null;
  readonly operation: DecisionRecord["operation"];
  readonly route: Identifier | null;
  readonly workspace: Identifier | null;
  readonly key_id: Identifier | null;
  readonly outcome: DecisionRecord["outcome"];
  /** Of a denial or a refusal. */
  readonly reason: Identifier | null;
  readonly policy: Identifier | null;
  readonly constraint: Identifier | null;
  readonly terminal: Terminal;
  readonly status: number;
  readonly stream: boolean;
  /**
   * The answering provider: several names, joined by commas, where a batch was sent in parts.
   * Without an answer, the last attempt's.
   */
  readonly endpoint: Identifier | null;
  readonly provider: Identifier | null;
  readonly region: Identifier | null;
  readonly attempts: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly total_ms: number;
  readonly router_ms: number;
  readonly first_byte_ms: number | null;
}

/** One for each attempt; on level debug. */
export interface AttemptLine {
  readonly event: "attempt";
  readonly request_id: Identifier;
  readonly endpoint: Identifier;
  readonly provider: Identifier;
  readonly region: Identifier;
  readonly failure: FailureKind | null;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly calls: number;
}

/** Where lines go. Does not wait, does not throw. */
export interface Log {
  write(level: LogLevel, record: LogRecord): void;
  /** Whether a line of this level would be written. */
  takes(level: LogLevel): boolean;
}
