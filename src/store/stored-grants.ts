import type { ExchangeGrant } from "../canon/credentials/service-key.ts";
import { isTimeZone } from "../canon/local-time.ts";
import { BUDGET_PERIODS, type KeyLimits } from "../canon/limits.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../canon/json.ts";
import { isOperation } from "../canon/operation.ts";

/** Unreadable limits allow nothing; failing would block the changes of all other keys. */
const NOTHING: KeyLimits = {
  requestsPerMinute: 0,
  tokensPerMinute: 0,
  concurrency: 0,
  budget: null,
};

/**
 * The exchange grant as `JSON.stringify` wrote it. `null`, no grant, where nothing or something
 * else is stored. An operation that this version does not know is granted to no caller.
 */
export function parseExchange(text: string | null): ExchangeGrant | null {
  const stored = parseJsonObject(text ?? "");
  if (stored === null || typeof stored.maximumLifetime !== "number") return null;
  const operations = readList(stored, "operations");
  const routes = readList(stored, "routes");
  const origins = readList(stored, "origins");
  if (operations === undefined || routes === undefined || origins === undefined) return null;
  return {
    maximumLifetime: stored.maximumLifetime,
    operations: operations?.filter(isOperation) ?? null,
    routes,
    origins,
  };
}

/** A key's limits as `JSON.stringify` wrote them; `null` where there are none. */
export function parseLimits(text: string | null): KeyLimits | null {
  if (text === null) return null;
  const stored = parseJsonObject(text);
  const requestsPerMinute = readCount(stored, "requestsPerMinute");
  const tokensPerMinute = readCount(stored, "tokensPerMinute");
  const concurrency = readCount(stored, "concurrency");
  const budget = readBudget(stored?.budget);
  if (
    requestsPerMinute === undefined ||
    tokensPerMinute === undefined ||
    concurrency === undefined ||
    budget === undefined
  ) {
    return NOTHING;
  }
  return { requestsPerMinute, tokensPerMinute, concurrency, budget };
}

/** `undefined` for what is no budget. */
function readBudget(value: unknown): KeyLimits["budget"] | undefined {
  if (value === null) return null;
  if (!isJsonObject(value)) return undefined;
  const { usd, tokens, timeZone } = value;
  const per = BUDGET_PERIODS.find((one) => one === value.per);
  if (per === undefined) return undefined;
  if (timeZone !== undefined && !(typeof timeZone === "string" && isTimeZone(timeZone)))
    return undefined;
  const window = { per, ...(timeZone !== undefined && { timeZone }) };
  if (typeof usd === "number") return { usd, ...window };
  return typeof tokens === "number" ? { tokens, ...window } : undefined;
}

function readCount(stored: JsonObject | null, name: string): number | null | undefined {
  const value = stored?.[name];
  return value === null || typeof value === "number" ? value : undefined;
}

function readList(stored: JsonObject, name: string): readonly string[] | null | undefined {
  const value = stored[name];
  if (value === null) return null;
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((item) => typeof item === "string");
  return texts.length === value.length ? texts : undefined;
}
