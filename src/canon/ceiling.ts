import { RETENTIONS } from "./retention.ts";
import type { Approvals } from "./approvals.ts";
import type { ProviderRow } from "./table.ts";

/** What a workspace approves of its providers' contracts; no preference of a caller changes it (docs/configuration.md#workspacesapprove). */
export const CEILINGS = ["data_collection", "retention"] as const;
export type Ceiling = (typeof CEILINGS)[number];

type Contract = Pick<ProviderRow, "retention" | "trainsOnData">;

/** @param contract `undefined`, for a provider that the table does not have, is within no ceiling. */
export function isWithinCeiling(ceiling: Ceiling, approve: Approvals, contract: Contract | undefined): boolean {
  if (ceiling === "data_collection") return approve.dataCollection === undefined || contract?.trainsOnData === false;
  const { retention: longest } = approve;
  if (longest === undefined) return true;
  return contract !== undefined && RETENTIONS.indexOf(contract.retention) <= RETENTIONS.indexOf(longest);
}

/** Whether a provider with this contract may be a candidate of the workspace. */
export function isWithinCeilings(approve: Approvals, contract: Contract | undefined): boolean {
  return CEILINGS.every((ceiling) => isWithinCeiling(ceiling, approve, contract));
}
