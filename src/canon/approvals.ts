import type { Capability } from "./capability.ts";

/**
 * How long a provider keeps what it is sent: not at all, a stated time, or without a stated end.
 */
export const RETENTIONS = ["none", "transient", "days_30", "unlimited"] as const;

export type Retention = (typeof RETENTIONS)[number];

/** What a workspace may use; everything else is denied. */
export interface Approvals {
  readonly routes: readonly string[];
  /** Concrete regions; groups have been written out. Sorted. */
  readonly regions: readonly string[];
  readonly providers: readonly string[];
  readonly capabilities: readonly Capability[];
  readonly dimensions: readonly number[];
  /** The largest context window of a model that embeds, tokens; `null` approves none. */
  readonly contextWindow: number | null;
  /**
   * Providers that train on data are no candidates, whatever callers prefer; absent: callers
   * decide.
   */
  readonly dataCollection?: "deny";
  /** The longest retention of a provider that is a candidate; absent: any. */
  readonly retention?: Exclude<Retention, "unlimited">;
}

/**
 * What a workspace approves of its providers' contracts; no preference of a caller changes it
 * (docs/configuration.md#workspacesapprove).
 */
export const CEILINGS = ["data_collection", "retention"] as const;

export type Ceiling = (typeof CEILINGS)[number];

/** A provider's, as far as it is looked at. */
interface Contract {
  readonly retention: Retention;
  readonly trainsOnData: boolean;
}

/**
 * @param contract `undefined`, for a provider that the table does not have, is within no ceiling.
 */
export function isWithinCeiling(
  ceiling: Ceiling,
  approve: Approvals,
  contract: Contract | undefined,
): boolean {
  if (ceiling === "data_collection")
    return approve.dataCollection === undefined || contract?.trainsOnData === false;
  const { retention: longest } = approve;
  if (longest === undefined) return true;
  return (
    contract !== undefined && RETENTIONS.indexOf(contract.retention) <= RETENTIONS.indexOf(longest)
  );
}

/** Whether a provider with this contract may be a candidate of the workspace. */
export function isWithinCeilings(approve: Approvals, contract: Contract | undefined): boolean {
  return CEILINGS.every((ceiling) => isWithinCeiling(ceiling, approve, contract));
}
