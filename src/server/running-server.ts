import type { Diagnostic } from "../canon/diagnostic.ts";
import type { EndpointsHealth } from "../http/control/endpoints-health.ts";
import type { MetricsPage } from "../http/runtime.ts";
import type { OpenKeyRing } from "../keys/key-ring.ts";
import type { Store } from "../store/port.ts";
import type { PolicyListener, ServedPolicies } from "./policies/served-policies.ts";
import type { BuiltSnapshot } from "./snapshots.ts";

/** A running server: what `signalbox serve` starts, and what tests start in their own process. */
export interface RunningServer {
  readonly url: string;
  readonly adminUrl: string;
  readonly store: Store;
  readonly keys: OpenKeyRing;
  readonly built: Extract<BuiltSnapshot, { ok: true }>;
  readonly policies: ServedPolicies["administration"];
  /**
   * Makes a code that signs in to the console once, as the holder of a key; `null` where this
   * process serves no console.
   */
  readonly signInCode: ((keyId: string) => string) | null;
  /**
   * Compiles the files again, and reads the certificate; swaps on success, keeps what runs on
   * failure. @throws {CommandError} for the certificate.
   */
  reload(): Promise<BuiltSnapshot>;
  /** Reports sets of policies that replace another without a reload. */
  watchPolicies(listener: PolicyListener): void;
  /** The page of `GET /metrics`. */
  metrics(accept: string | undefined): MetricsPage | Promise<MetricsPage>;
  /** Endpoints, as the calls of this process show them. */
  endpointsHealth(): EndpointsHealth;
  /** Goes on serving, not ready any more; every answer ends its connection. */
  retire(): void;
  /**
   * Lets requests in flight end, writes the last records, closes everything. Safe to call twice.
   */
  close(): Promise<void>;
}

export type Started =
  | { readonly ok: true; readonly server: RunningServer }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };
