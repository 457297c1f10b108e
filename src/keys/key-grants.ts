import { isOrigin, isRouteName } from "../canon/credentials/narrowing.ts";
import {
  TOKEN_LIFETIME,
  type ExchangeGrant,
  type NewExchange,
} from "../canon/credentials/service-key.ts";
import { SMALLEST_BUDGET, type Budget, type KeyLimits } from "../canon/limits.ts";
import { OPERATIONS, isOperation } from "../canon/operation.ts";
import { holdsCredential } from "./key-text.ts";

const MAXIMUM_ROUTES = 256;
const MAXIMUM_ORIGINS = 32;

/** @throws {KeyOptionError} */
export function checkExchange(requested: NewExchange | null): ExchangeGrant | null {
  if (requested === null) return null;
  const { minimum, maximum } = TOKEN_LIFETIME;
  const { maximumLifetime } = requested;
  if (
    !Number.isSafeInteger(maximumLifetime) ||
    maximumLifetime < minimum ||
    maximumLifetime > maximum
  ) {
    throw new KeyOptionError(
      "exchange.maximum_lifetime",
      `give whole seconds from ${minimum} to ${maximum}`,
    );
  }
  return {
    maximumLifetime,
    operations: checkOperations(requested.operations),
    routes: checkRoutes(requested.routes),
    origins: checkOrigins(requested.origins),
  };
}

function checkOperations(requested: readonly string[] | null): ExchangeGrant["operations"] {
  if (requested === null) return null;
  const known = requested.filter(isOperation);
  if (known.length === 0 || known.length < requested.length) {
    throw new KeyOptionError(
      "exchange.operations",
      `give one or more of ${OPERATIONS.join(", ")}, or leave it out`,
    );
  }
  return OPERATIONS.filter((operation) => known.includes(operation));
}

function checkRoutes(requested: readonly string[] | null): ExchangeGrant["routes"] {
  if (requested === null) return null;
  if (
    requested.length === 0 ||
    requested.length > MAXIMUM_ROUTES ||
    !requested.every(isRouteName)
  ) {
    throw new KeyOptionError(
      "exchange.routes",
      `give 1 to ${MAXIMUM_ROUTES} names of routes, each of 1 to 256 characters without spaces, or leave it out`,
    );
  }
  if (requested.some(holdsCredential)) throw new KeyOptionError("exchange.routes", NO_SECRETS);
  return [...new Set(requested)].toSorted();
}

function checkOrigins(requested: readonly string[] | null): ExchangeGrant["origins"] {
  if (requested === null) return null;
  if (requested.length === 0 || requested.length > MAXIMUM_ORIGINS || !requested.every(isOrigin)) {
    throw new KeyOptionError(
      "exchange.origins",
      `give 1 to ${MAXIMUM_ORIGINS} origins as browsers send them, such as https://app.example.com, or leave it out`,
    );
  }
  return [...new Set(requested)].toSorted();
}

/** @throws {KeyOptionError} */
export function checkLimits(requested: KeyLimits | null): KeyLimits | null {
  if (requested === null) return null;
  const { budget } = requested;
  const limits: KeyLimits = {
    requestsPerMinute: checkCount(
      "limits.requests_per_minute",
      requested.requestsPerMinute,
      1_000_000_000,
    ),
    tokensPerMinute: checkCount(
      "limits.tokens_per_minute",
      requested.tokensPerMinute,
      1_000_000_000_000,
    ),
    concurrency: checkCount("limits.concurrency", requested.concurrency, 1_000_000),
    budget: budget === null ? null : checkBudget(budget),
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

function checkBudget(budget: Budget): Budget {
  const { per } = budget;
  if (
    "usd" in budget &&
    Number.isFinite(budget.usd) &&
    budget.usd >= SMALLEST_BUDGET &&
    budget.usd <= 1_000_000_000
  ) {
    return { usd: budget.usd, per };
  }
  if (
    "tokens" in budget &&
    Number.isSafeInteger(budget.tokens) &&
    budget.tokens >= 1 &&
    budget.tokens <= 1e12
  ) {
    return { tokens: budget.tokens, per };
  }
  throw new KeyOptionError(
    "limits.budget",
    "give US dollars from 0.000001 to 1000000000, or tokens from 1 to 1000000000000, and hour, day or month",
  );
}

function checkCount(field: KeyField, count: number | null, maximum: number): number | null {
  if (count !== null && !(Number.isSafeInteger(count) && count >= 1 && count <= maximum)) {
    throw new KeyOptionError(field, `give a whole number from 1 to ${maximum}`);
  }
  return count;
}

export type KeyField =
  | "workspace"
  | "scopes"
  | "owner"
  | "expires_at"
  | "environment"
  | "workload"
  | "labels"
  | "exchange.maximum_lifetime"
  | "exchange.operations"
  | "exchange.routes"
  | "exchange.origins"
  | "limits.requests_per_minute"
  | "limits.tokens_per_minute"
  | "limits.concurrency"
  | "limits.budget"
  | "overlap"
  | "key";

/** The fix of a text that would be kept, and read by others, with a secret in it. */
export const NO_SECRETS = "leave the service key or token out; this would store a secret";

/**
 * An option cannot be used. The message names the field and the fix and never quotes what was
 * given: somebody may have put a key there.
 */
export class KeyOptionError extends Error {
  override readonly name = "KeyOptionError";
  readonly field: KeyField;
  /**
   * What to give instead, without the field's name: callers put the name of their flag or member in
   * front.
   */
  readonly fix: string;
  constructor(field: KeyField, fix: string) {
    super(`${field}: ${fix}`);
    this.field = field;
    this.fix = fix;
  }
}
