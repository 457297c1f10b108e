import { DEFAULT_PROMOTION, type PromotionRequirements } from "../canon/promotion.ts";
import type { RoutingTable } from "../canon/table.ts";

/** What a promotion of the policy requires (`policies.promotion`): its own row, which is whole, or that of `*`, or the defaults. */
export function promotionRequirements(
  { policies: { promotion = {} } }: Pick<RoutingTable, "policies">,
  policy: string,
): PromotionRequirements {
  const own = Object.hasOwn(promotion, policy) ? promotion[policy] : undefined;
  return own ?? (Object.hasOwn(promotion, "*") ? promotion["*"] : undefined) ?? DEFAULT_PROMOTION;
}
