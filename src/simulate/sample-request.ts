import type { Capability } from "../canon/capability.ts";
import type { Feature } from "../canon/generate/feature.ts";
import type { Operation } from "../canon/operation.ts";
import type { PolicyTime } from "../canon/policy.ts";
import type { ProviderPreferences } from "../canon/preferences.ts";
import type { Balance } from "../canon/table.ts";
import type { ChangeKind } from "./change-kind.ts";
import { PLAIN_SCALARS, type Scalars } from "./request-scalars.ts";

/** One request as far as any decision may look at it: what stands for a class, and what a reader can try again. Plain JSON. */
export interface SampleRequest extends Scalars {
  readonly workspace: string;
  /** The route's name as a caller would write it; empty for moderations that leave it to the workspace. */
  readonly model: string;
  readonly operation: Operation;
  readonly key: { readonly environment: string; readonly workload: string; readonly labels: readonly string[] };
  /** Sorted, each once. */
  readonly needs: readonly Capability[];
  /** Sorted, each once. */
  readonly features: readonly Feature[];
  readonly signatureFamilies: readonly string[];
  readonly dimensions: number | null;
  readonly preferences: ProviderPreferences | null;
  readonly time: PolicyTime;
}

/** The plainest request there is, of nobody for nothing. */
export const PLAIN_SAMPLE: SampleRequest = {
  workspace: "",
  model: "",
  operation: "chat.completions",
  key: { environment: "", workload: "", labels: [] },
  needs: [],
  features: [],
  signatureFamilies: [],
  ...PLAIN_SCALARS,
  dimensions: null,
  preferences: null,
  time: { day: "weekday", hour: "morning" },
};

/** Where a request may go, with everything that makes it another place for a reviewer. */
export interface PlannedEndpoint {
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly region: string;
  /** Candidates of one tier are equals, shared as `balance` says. */
  readonly tier: number;
  readonly balance: Balance;
  readonly weight: number;
}

export interface OutcomeDenial {
  /** Policy id, `approvals` or `preferences`. */
  readonly policy: string;
  readonly constraint: string;
  readonly reason: string;
}

/** What becomes of a request on one side. */
export interface Outcome {
  /** In the order of trying; empty for a denial. */
  readonly plan: readonly PlannedEndpoint[];
  /** `null`: all of the plan. */
  readonly maxPlaces: number | null;
  readonly denial: OutcomeDenial | null;
  /** The most output tokens and members to take out; `null` for a denial. */
  readonly edits: { readonly maxOutputTokens: number | null; readonly stripFields: readonly string[] } | null;
  /** Whether a constraint that acts here could not be evaluated. */
  readonly indeterminate: boolean;
}

/** Which slots act: as the files say, or as if candidates were promoted. */
export const VIEWS = ["declared", "promoted"] as const;
export type View = (typeof VIEWS)[number];

export interface OutcomePair {
  readonly base: Outcome;
  readonly head: Outcome;
  /** In the order of `CHANGE_KINDS`; empty where nothing changes. */
  readonly kinds: readonly ChangeKind[];
}

/** A workspace and the name of a route that its requests ask for. */
export interface Member {
  readonly workspace: string;
  readonly model: string;
}

/** One class of requests, decided on both sides. */
export interface ClassComparison {
  /** Stands for every request of the class. */
  readonly sample: SampleRequest;
  /** The workspaces and routes that the class holds for; nothing tells them apart. The point is one of them. */
  readonly members: readonly [Member, ...Member[]];
  /** How many request shapes the class stands for, all members together. */
  readonly shapes: bigint;
  readonly declared: OutcomePair;
  readonly promoted: OutcomePair;
}

/** What somebody besides the policies wants told apart; no class then holds two requests that differ in it. */
export interface Distinctions {
  /** Ids, capabilities, features, labels and other words that must not be taken for others. */
  readonly strings: readonly string[];
  /**
   * Paths of `PolicyInput`, such as `input.key.environment`, that are read; besides them `input.request.features`,
   * `input.request.signature_families` and {@link NARROWED}. Words that are not listed are one to the reader, but not the same as none.
   */
  readonly reads: readonly string[];
}

/** Whether the caller has narrowed the places, of which no policy knows. */
export const NARROWED = "preferences.narrowed";

/** Whether a caller leaves some places out that the route has. */
export function isNarrowed(preferences: ProviderPreferences | null): boolean {
  return preferences?.only !== undefined || preferences?.region !== undefined || preferences?.ignore !== undefined;
}
