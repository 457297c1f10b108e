import type { ProviderPreferences } from "../../canon/request.ts";
import type { Price, Retention } from "../../canon/table.ts";
import type { SideLocation } from "./location.ts";

/** One changed entry of the files, or several that only together change what they change. */
export interface CauseReport {
  /** Twelve hexadecimal digits; the same while the same entries change. */
  readonly id: string;
  /** What a reader looks at first comes first; empty for groups whose cause was not found. */
  readonly entries: readonly ChangedEntry[];
  readonly renames: readonly Rename[];
  /** Ids of groups that follow from it as declared, and of those that only promotion makes. */
  readonly groups: readonly string[];
  readonly promoted_groups: readonly string[];
  /** Those of them whose results differ by a changed name only. */
  readonly renamed_groups: readonly string[];
  /**
   * Of groups whose plain requests head denies and base serves: preferences with which head serves
   * them still.
   */
  readonly exceptions: readonly {
    readonly group: string;
    readonly preferences: readonly ProviderPreferences[];
  }[];
  /** Endpoints that requests of the groups reach in head only, and in base only. */
  readonly gains: readonly DestinationReport[];
  readonly loses: readonly DestinationReport[];
  /** Routes that the groups request or the entries name. */
  readonly routes: readonly {
    readonly id: string;
    readonly title: string;
    readonly primary: DestinationReport | null;
    /** Base's, where another endpoint comes first now; absent otherwise. */
    readonly former_primary?: DestinationReport;
  }[];
  /**
   * Workspaces that may use one of the routes and see no change; `why` is `null` where no approval
   * is the reason.
   */
  readonly unaffected: readonly { readonly workspace: string; readonly why: string | null }[];
  /** Workspaces that may use none of the routes. */
  readonly without_routes: number;
}

/**
 * An entry of routes.yaml, of the policies or of the assertions that is not the same on both sides.
 */
export interface ChangedEntry {
  /**
   * As the file writes it: `routes.chat-eu.fallbacks`, `policies/eu-residency`,
   * `assertions.eu-stays`.
   */
  readonly path: string;
  readonly kind:
    | "region_group"
    | "provider"
    | "model"
    | "endpoint"
    | "route"
    | "workspace"
    | "policy"
    | "policy_setting"
    | "vocabulary"
    | "assertion"
    | "overlay"
    | "setting";
  /** The row's name: `chat-eu`. */
  readonly subject: string;
  readonly change: "added" | "removed" | "changed";
  /** Values in one line, at most 160 characters; `null` where there is none, and for whole rows. */
  readonly before: string | null;
  readonly after: string | null;
  /** The changed line; in base's files where head has none. */
  readonly place: SideLocation | null;
}

/** A row whose name changed and whose content did not. */
export interface Rename {
  readonly kind: ChangedEntry["kind"];
  readonly from: string;
  readonly to: string;
  /**
   * Policies that can distinguish the names: for them it is a change like any other. Absent where
   * there are none.
   */
  readonly distinguished_by?: readonly string[];
}

/** An endpoint with what a reviewer must know of it. */
export interface DestinationReport {
  readonly endpoint: string;
  readonly model: string;
  /** Tokens; absent where none is set. */
  readonly context_window?: number;
  readonly provider: string;
  readonly region: string;
  /** With the port, where one is written. */
  readonly host: string;
  readonly retention: Retention;
  readonly trains_on_data: boolean;
  /** US dollars: of a million tokens, and of a call; `null` where none is set. */
  readonly price: Pick<Price, "input" | "output" | "request"> | null;
}
