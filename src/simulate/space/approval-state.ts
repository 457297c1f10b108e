import type { Capability } from "../../canon/capability.ts";
import type { Feature } from "../../canon/generate/feature.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { SideState } from "./side-state.ts";

/** The members of a sample that the table's approvals read. */
export type ApprovalPart = Pick<
  SampleRequest,
  "needs" | "features" | "signatureFamilies" | "dimensions" | "preferences"
>;

/** Requests that both sides treat alike until their policies are evaluated. */
export interface ApprovalState {
  /** One of them, the plainest. */
  readonly part: ApprovalPart;
  /** The sample for base that shows what the plainest request can reach. */
  readonly reachingPreferences: ApprovalPart["preferences"];
  /** In the order of the views. */
  readonly sides: readonly SideState[];
  readonly details: Details;
  readonly size: bigint;
}

/** What the requests of a state are, for those who describe them: most states are never described, so it is found out late. */
type Details = () => StateDetails;

export interface StateDetails {
  /** Needs and features that all of them have. */
  readonly common: Common;
  /** Values that their other members take, for each of them. */
  readonly taken: Taken;
}

export interface Common {
  readonly needs: readonly Capability[];
  readonly features: readonly Feature[];
}

/** Dimension → values, as text. */
export type Taken = ReadonlyMap<string, readonly string[]>;
