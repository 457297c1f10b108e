import type { Assertions } from "./assertions/schema.ts";
import type { Diagnostic } from "../canon/diagnostic.ts";
import type { RoutingTable } from "../canon/table.ts";
import type { ConfigurationFiles } from "../compile/load.ts";
import type { CompiledPolicies } from "../policy/compile-policies.ts";
import type { SettingChange, SimulationReport, ChangedEntry } from "./report/report.ts";
import type { EnforcedDigests } from "./side-contents.ts";

/** One of the two trees that are compared, compiled without errors. */
export interface Side {
  /** The ref or folder, as given. */
  readonly name: string;
  /** Commit id; `null` for a folder. */
  readonly commit: string | null;
  readonly table: RoutingTable;
  readonly policies: CompiledPolicies;
  readonly files: ConfigurationFiles;
  /** Whose overlay is merged over routes.yaml; none unless set. */
  readonly environment?: string | null;
  /** Sorted. */
  readonly warnings: readonly Diagnostic[];
}

/** The facts of a side in a report, besides its policies. */
export type ReportedSide = Omit<Side, "policies">;

/** A candidate that counts as promoted. */
export interface Promotion {
  readonly id: string;
  /**
   * Lower-case hexadecimal digits that the content's digest begins with; `null`: any content of
   * head.
   */
  readonly digestPrefix: string | null;
}

/** Assertions that head is checked against. */
export interface HeldFile {
  readonly file: string;
  readonly assertions: Assertions;
  /** Head's changes to base's assertions. */
  readonly changes: readonly SettingChange[];
  /** The same as entries of causes; none unless set. */
  readonly entries?: readonly ChangedEntry[];
}

export interface SimulationRequest {
  /** Whether both sides start as in a new store. */
  readonly fresh: boolean;
  /** The contents that a server enforces; absent: base is a new store. Not with `fresh`. */
  readonly enforced?: EnforcedDigests | null;
  /**
   * `null`: every candidate of both sides. Every entry names a policy of head, or one that head
   * ends; each at most once.
   */
  readonly promote: readonly Promotion[] | null;
  /**
   * How long requests may be decided, milliseconds; the report is incomplete where that is not
   * enough.
   */
  readonly timeLimit: number;
  /** From 1, which means in process. */
  readonly workers: number;
  /**
   * When further threads are started, milliseconds after the first request was decided, if enough
   * is left to do; 0: before it, in any case.
   */
  readonly threadsAfter?: number;
  /** The assertions file, read without errors; `null` where there is none. */
  readonly assertions: HeldFile | null;
  /** Overlays that are not compared and differ; none unless set. */
  readonly otherOverlays?: readonly SettingChange[];
  /** Absolute path of exported evidence; `null` without. */
  readonly evidence: string | null;
  /** Milliseconds since the epoch: waivers end by it. */
  readonly now: number;
}

/** How many of all pairs of workspace, route and operation are decided. */
export interface Progress {
  readonly done: number;
  readonly of: number;
}

/** Who waits for a simulation. */
export interface SimulationWatch {
  /** May be called at any rate. */
  readonly onProgress: (progress: Progress) => void;
  /** When it aborts, workers are terminated and the promise rejects. */
  readonly signal: AbortSignal;
}

/** Compares two sides. Rejects over bugs, and with the signal's reason. */
export type RunSimulation = (
  base: Side,
  head: Side,
  request: SimulationRequest,
  watch: SimulationWatch,
) => Promise<SimulationReport>;
