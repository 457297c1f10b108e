import { ABSENT, inDollars } from "../../format/amounts.ts";
import type { RouteEndpoint } from "./route-facts.ts";

/** US dollars for a million tokens, input and output, exactly: `$1.25 / $10.00`. */
export function priceOf({ price }: Pick<RouteEndpoint, "price">): string {
  if (price === null || (price.input === null && price.output === null)) return "no price";
  return `${amount(price.input)} / ${amount(price.output)}`;
}

const amount = (value: number | null): string => (value === null ? ABSENT : inDollars(value, 2, 6));
