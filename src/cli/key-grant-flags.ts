import { BUDGET_PERIODS, type KeyLimits } from "../canon/limits.ts";
import { TOKEN_LIFETIME, type NewExchange } from "../canon/credentials/service-key.ts";
import { listItems, readDuration, readValue, required, textFlags } from "./terminal/arguments.ts";
import { UsageError } from "./terminal/command-io.ts";
import type { KeyField } from "../keys/key-grants.ts";

export const GRANT_HELP = `
  --exchange D              The key may be exchanged for tokens that live this long at most: 60s to 15m.
  --exchange-operations A,B What tokens may do. Default: all that the key may.
  --exchange-routes A,B     Routes that tokens may use. Default: all that the workspace may.
  --exchange-origins A,B    Web origins, one of which every token must be bound to.

  --requests-per-minute N   Limits of this key, beside its workspace's.
  --tokens-per-minute N     Input and output together.
  --concurrency N           Requests running at once.
  --budget-usd X            Money per --budget-per.
  --budget-tokens N         Tokens instead of money.
  --budget-per P            hour, day or month, in UTC.
`;

export const GRANT_FLAGS = {
  ...textFlags("exchange", "exchange-operations", "exchange-routes", "exchange-origins"),
  ...textFlags(
    "requests-per-minute",
    "tokens-per-minute",
    "concurrency",
    "budget-usd",
    "budget-tokens",
    "budget-per",
  ),
} as const;

type GrantValues = { readonly [Name in keyof typeof GRANT_FLAGS]?: string | undefined };

/** `null` without `--exchange`. @throws {UsageError} */
export function readExchange(values: GrantValues): NewExchange | null {
  const lists = {
    operations: optionalList(values["exchange-operations"]),
    routes: optionalList(values["exchange-routes"]),
    origins: optionalList(values["exchange-origins"]),
  };
  if (values.exchange === undefined) {
    const [without] = Object.entries(lists).find(([, list]) => list !== null) ?? [];
    if (without !== undefined)
      throw new UsageError(`--exchange-${without}: needs --exchange, such as --exchange 10m`);
    return null;
  }
  const lifetime = readDuration(values.exchange);
  if (lifetime === null) {
    const { minimum, maximum } = TOKEN_LIFETIME;
    throw new UsageError(`--exchange: give a duration from ${minimum}s to ${maximum / 60}m`);
  }
  return { maximumLifetime: lifetime / 1_000, ...lists };
}

/** All `null` without the flags. @throws {UsageError} */
export function readLimits(values: GrantValues): KeyLimits {
  return {
    requestsPerMinute: readCount(values["requests-per-minute"], "--requests-per-minute"),
    tokensPerMinute: readCount(values["tokens-per-minute"], "--tokens-per-minute"),
    concurrency: readCount(values.concurrency, "--concurrency"),
    budget: readBudget(values["budget-usd"], values["budget-tokens"], values["budget-per"]),
  };
}

function readBudget(
  usd: string | undefined,
  tokens: string | undefined,
  per: string | undefined,
): KeyLimits["budget"] {
  if (usd === undefined && tokens === undefined && per === undefined) return null;
  if (usd !== undefined && tokens !== undefined) {
    throw new UsageError(
      "--budget-tokens: a budget is of money or of tokens; leave out one of the two",
    );
  }
  if (usd === undefined && tokens === undefined)
    throw new UsageError("--budget-usd: is missing; give US dollars, such as --budget-usd 50");
  const period = readValue("--budget-per", required(per, "--budget-per", "day"), BUDGET_PERIODS);
  if (tokens !== undefined)
    return { tokens: readCount(tokens, "--budget-tokens") ?? 0, per: period };
  if (usd === undefined || !/^\d{1,10}(\.\d{1,6})?$/.test(usd)) {
    throw new UsageError("--budget-usd: give US dollars, such as 50 or 0.25");
  }
  return { usd: Number(usd), per: period };
}

function readCount(text: string | undefined, flag: string): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError(`${flag}: give a whole number above 0`);
  return Number(text);
}

function optionalList(text: string | undefined): readonly string[] | null {
  return text === undefined ? null : listItems(text);
}

const FLAG_OF = {
  workspace: "--workspace",
  scopes: "--scopes",
  owner: "--owner",
  expires_at: "--expires",
  environment: "--key-environment",
  workload: "--workload",
  labels: "--labels",
  "exchange.maximum_lifetime": "--exchange",
  "exchange.operations": "--exchange-operations",
  "exchange.routes": "--exchange-routes",
  "exchange.origins": "--exchange-origins",
  "limits.requests_per_minute": "--requests-per-minute",
  "limits.tokens_per_minute": "--tokens-per-minute",
  "limits.concurrency": "--concurrency",
  "limits.budget": "--budget-usd",
  overlap: "--overlap",
  key: "key",
} as const satisfies Record<KeyField, string>;

/** The core names the field; the user of the terminal looks for the flag. */
export function keyUsage({
  field,
  fix,
}: {
  readonly field: KeyField;
  readonly fix: string;
}): UsageError {
  return new UsageError(`${FLAG_OF[field]}: ${fix}`);
}
