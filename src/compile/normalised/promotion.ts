import { mapSettings, type PromotionRequirements } from "../../canon/promotion.ts";
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
  const required = mapSettings("own", {
    count: ({ key, default: value }): number => row[key] ?? value,
    flag: ({ key, default: value }): boolean => row[key] ?? value,
    list: ({ key, default: value }): readonly string[] => row[key]?.toSorted() ?? value,
    duration: ({ key, default: value }): number => {
      const time = row[key] ?? "none";
      return time === "none" ? value : milliseconds(time);
    },
  });
  // Assertions are results of a report.
  return { ...required, report: required.report || required.assertions };
}
