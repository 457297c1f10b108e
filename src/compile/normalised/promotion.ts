import { DEFAULT_PROMOTION, type PromotionRequirements } from "../../canon/policy.ts";
import type { PolicySettings } from "../../canon/table.ts";
import type { AuthoredPolicies } from "../routes-schema.ts";
import { milliseconds } from "./durations.ts";

/** Rows with every member of their own, and who may change policies; each absent where the file does not set it. */
export function normalisePromotion({ promotion, managed_by: managedBy }: AuthoredPolicies = {}): Pick<
  PolicySettings,
  "promotion" | "managedBy"
> {
  const rows = Object.entries(promotion ?? {});
  const { "*": everywhere = {} } = promotion ?? {};
  return {
    ...(rows.length > 0 && {
      promotion: Object.fromEntries(rows.map(([id, row]) => [id, requirements({ ...everywhere, ...row })])),
    }),
    ...(managedBy !== undefined && { managedBy: managedBy.toSorted() }),
  };
}

function requirements(row: NonNullable<AuthoredPolicies["promotion"]>[string]): PromotionRequirements {
  const assertions = row.assertions ?? DEFAULT_PROMOTION.assertions;
  return {
    approvals: row.approvals ?? DEFAULT_PROMOTION.approvals,
    roles: row.roles?.toSorted() ?? DEFAULT_PROMOTION.roles,
    selfApproval: row.self_approval ?? DEFAULT_PROMOTION.selfApproval,
    soak: row.soak === undefined || row.soak === "none" ? DEFAULT_PROMOTION.soak : milliseconds(row.soak),
    decisions: row.min_decisions ?? DEFAULT_PROMOTION.decisions,
    noIndeterminate: row.no_indeterminate ?? DEFAULT_PROMOTION.noIndeterminate,
    // Assertions are results of a report.
    report: assertions || (row.report ?? DEFAULT_PROMOTION.report),
    assertions,
  };
}
