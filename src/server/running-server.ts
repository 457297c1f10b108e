import type { Diagnostic } from "../canon/diagnostic.ts";
import type { ServerLimits } from "../http/capacity.ts";
import type { EndpointsHealth } from "../http/control/endpoints-health.ts";
import type { OpenKeyRing } from "../keys/key-ring.ts";
import type { CompileCache } from "../policy/toolchain/compile-cache.ts";
import type { PolicyListener, ServedPolicies } from "./policies/served-policies.ts";
import type { BuiltSnapshot } from "./snapshots.ts";
import type { TlsFiles } from "./tls.ts";
import type { EvidenceLimits } from "../store/evidence-queue.ts";
import type { Store } from "../store/port.ts";
import type { ReadFamily } from "../telemetry/families.ts";
import type { LogLevel } from "../telemetry/log-record.ts";

export interface LogOptions {
  /**
   * `text`: messages for people. `json`: one object a line on standard output; messages for people
   * go to standard error.
   */
  readonly format: "text" | "json";
  readonly level: LogLevel;
  /** Several processes write to the same standard output. */
  readonly shared?: boolean;
}

/** Why the public listener may speak plain http beyond this machine. */
export type Exposure = "insecure_http" | "behind_proxy";

/** Where the console is. */
export type ConsoleListener = "admin" | "public" | "off";

/** How one server is to run; every member has been checked. */
export interface ServeOptions {
  readonly config: string;
  /**
   * `config` is the example that comes with Signalbox, because a demo was requested where there is
   * no routes.yaml.
   */
  readonly example?: boolean;
  /** The environment whose overlay is merged over it; none unless set. */
  readonly environment?: string | null;
  /**
   * Path of an SQLite file, or a URL of PostgreSQL; the URL holds a password and must not be
   * printed.
   */
  readonly database: string;
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Makes a key of one day for the workspace `demo` and prints a request to paste. */
  readonly demo: boolean;
  /** A minute of made-up requests after the start. */
  readonly traffic?: boolean;
  /** Which listener serves the operators' page; default: none. */
  readonly console?: ConsoleListener;
  /** Longest wait for requests in flight at the end, milliseconds. */
  readonly drain: number;
  /**
   * How long the server still takes requests after the signal to stop, while /readyz answers 503,
   * milliseconds. Default: 0.
   */
  readonly drainDelay?: number;
  /** Processes that serve the public side; default: this one alone, as for 1. */
  readonly workers?: number;
  /** The public listener speaks TLS. */
  readonly tls?: TlsFiles | undefined;
  /**
   * Other machines reach the public listener without TLS, and why they may; absent or `null`: they
   * do not.
   */
  readonly exposure?: Exposure | null;
  /** The file of the first key when output is no terminal; default: none is written. */
  readonly firstKeyFile?: string;
  /** Connections to the public listener at once, in each process. */
  readonly maxConnections?: number;
  /**
   * How long a connection to the public listener is kept without a request, milliseconds.
   * Default: 75 s.
   */
  readonly keepAlive?: number;
  /** Calls to providers and issuers go through the proxies that the environment names. */
  readonly egressProxy?: boolean;
  readonly limits?: Pick<ServerLimits, "bodyBytes"> &
    Partial<Pick<ServerLimits, "answerBytes">> & {
      readonly inFlight: number;
      readonly bodyMemory: number;
    };
  /** Reload when a file of the configuration changes. */
  readonly watch: boolean;
  /** Compiled policies; `null` for none. */
  readonly cache: CompileCache | null;
  /**
   * How long decisions gather that no answer needs, and how long an answer waits for its own.
   * Default: the store's.
   */
  readonly evidence?: Pick<EvidenceLimits, "delay" | "maxWait">;
  /** How long evidence is kept, milliseconds; `null` or absent: for ever. */
  readonly evidenceRetention?: number | null;
  /** Default: text. */
  readonly log?: LogOptions;
}

/** A running server, as `signalbox serve` and tests start it. */
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
   * Compiles the files again, and reads the certificate; swaps on success, keeps the running
   * configuration on failure. @throws {CommandError} for the certificate.
   */
  reload(): Promise<BuiltSnapshot>;
  /** Reports sets of policies that replace another without a reload. */
  watchPolicies(listener: PolicyListener): void;
  /** The metrics of this process. */
  metrics(): readonly ReadFamily[];
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
