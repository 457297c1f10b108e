import type { ExchangeGrant } from "../canon/credentials/service-key.ts";
import { isTimeZone } from "../canon/local-time.ts";
import { BUDGET_PERIODS, type KeyLimits } from "../canon/limits.ts";
import { isJsonObject, parseJsonObject } from "../canon/json.ts";
import { isOperation } from "../canon/operation.ts";
import {
  hasShape,
  isListOf,
  isNumber,
  isOneOf,
  isText,
  orAbsent,
  orNull,
  type Check,
} from "../evidence/record-shape.ts";

/** Unreadable limits allow nothing; failing would block the changes of all other keys. */
const NOTHING: KeyLimits = {
  requestsPerMinute: 0,
  tokensPerMinute: 0,
  concurrency: 0,
  budget: null,
};

const isGrant = hasShape<ExchangeGrant>({
  maximumLifetime: isNumber,
  operations: orNull(isListOf(isText)),
  routes: orNull(isListOf(isText)),
  origins: orNull(isListOf(isText)),
});

/**
 * The exchange grant as `JSON.stringify` wrote it. `null`, no grant, where nothing or something
 * else is stored. An operation that this version does not know is granted to no caller.
 */
export function parseExchange(text: string | null): ExchangeGrant | null {
  const stored: unknown = parseJsonObject(text ?? "");
  if (!isGrant(stored)) return null;
  const { maximumLifetime, operations, routes, origins } = stored;
  return {
    maximumLifetime,
    operations: operations?.filter(isOperation) ?? null,
    routes,
    origins,
  };
}

const isPeriod = hasShape({
  per: isOneOf(BUDGET_PERIODS),
  timeZone: orAbsent((value) => typeof value === "string" && isTimeZone(value)),
});

const isBudget: Check = (value) =>
  isPeriod(value) && isJsonObject(value) && (isNumber(value.usd) || isNumber(value.tokens));

const isLimits = hasShape<KeyLimits>({
  requestsPerMinute: orNull(isNumber),
  tokensPerMinute: orNull(isNumber),
  concurrency: orNull(isNumber),
  budget: orNull(isBudget),
});

/** A key's limits as `JSON.stringify` wrote them; `null` where there are none. */
export function parseLimits(text: string | null): KeyLimits | null {
  if (text === null) return null;
  const stored: unknown = parseJsonObject(text);
  if (!isLimits(stored)) return NOTHING;
  const { requestsPerMinute, tokensPerMinute, concurrency, budget } = stored;
  return { requestsPerMinute, tokensPerMinute, concurrency, budget };
}
