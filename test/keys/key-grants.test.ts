import { describe, expect, it } from "vitest";
import type { NewExchange } from "../../src/canon/credentials/service-key.ts";
import type { KeyLimits } from "../../src/canon/limits.ts";
import { checkExchange, checkLimits, type KeyField } from "../../src/keys/key-record.ts";

const EXCHANGE: NewExchange = {
  maximumLifetime: 60,
  operations: null,
  routes: null,
  origins: null,
};
const LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budget: null,
};
const names = (count: number) =>
  Array.from({ length: count }, (_, index) => `route-${1000 + index}`);
const origins = (count: number) =>
  Array.from({ length: count }, (_, index) => `https://${100 + index}.example.com`);

describe("a grant of token exchange", () => {
  it.each<Partial<NewExchange>>([
    { maximumLifetime: 60 },
    { maximumLifetime: 900 },
    { operations: ["embeddings"] },
    { routes: ["r".repeat(256)] },
    { routes: names(256) },
    { origins: origins(32) },
  ])("is accepted at its bounds: %j", (grant) => {
    expect(checkExchange({ ...EXCHANGE, ...grant })).toEqual({ ...EXCHANGE, ...grant });
  });

  it.each<[Partial<NewExchange>, KeyField]>([
    [{ maximumLifetime: 59 }, "exchange.maximum_lifetime"],
    [{ maximumLifetime: 901 }, "exchange.maximum_lifetime"],
    [{ maximumLifetime: 60.5 }, "exchange.maximum_lifetime"],
    [{ operations: [] }, "exchange.operations"],
    [{ operations: ["embeddings", "mining"] }, "exchange.operations"],
    [{ routes: [] }, "exchange.routes"],
    [{ routes: names(257) }, "exchange.routes"],
    [{ routes: ["a", ""] }, "exchange.routes"],
    [{ routes: ["r".repeat(257)] }, "exchange.routes"],
    [{ routes: ["a b"] }, "exchange.routes"],
    [{ routes: ["sbx_prod_0123456789abcdef"] }, "exchange.routes"],
    [{ origins: [] }, "exchange.origins"],
    [{ origins: origins(33) }, "exchange.origins"],
    [{ origins: ["https://a.example.com", "https://a.example.com/path"] }, "exchange.origins"],
  ])("is refused beyond them: %j", (grant, field) => {
    expect(() => checkExchange({ ...EXCHANGE, ...grant })).toThrow(
      expect.objectContaining({ field }),
    );
  });
});

describe("limits of a key", () => {
  it.each<Partial<KeyLimits>>([
    { requestsPerMinute: 1 },
    { requestsPerMinute: 1_000_000_000 },
    { tokensPerMinute: 1 },
    { tokensPerMinute: 1_000_000_000_000 },
    { concurrency: 1 },
    { concurrency: 1_000_000 },
    { budget: { usd: 0.000001, per: "hour" } },
    { budget: { usd: 1_000_000_000, per: "day" } },
    { budget: { tokens: 1, per: "month" } },
    { budget: { tokens: 1_000_000_000_000, per: "day" } },
  ])("are accepted at their bounds: %j", (limits) => {
    expect(checkLimits({ ...LIMITS, ...limits })).toEqual({ ...LIMITS, ...limits });
  });

  it.each<[Partial<KeyLimits>, KeyField]>([
    [{ requestsPerMinute: 0 }, "limits.requests_per_minute"],
    [{ requestsPerMinute: 1.5 }, "limits.requests_per_minute"],
    [{ requestsPerMinute: 1_000_000_001 }, "limits.requests_per_minute"],
    [{ tokensPerMinute: 0 }, "limits.tokens_per_minute"],
    [{ tokensPerMinute: 1_000_000_000_001 }, "limits.tokens_per_minute"],
    [{ concurrency: 0 }, "limits.concurrency"],
    [{ concurrency: 1_000_001 }, "limits.concurrency"],
    [{ budget: { usd: 0.0000009, per: "day" } }, "limits.budget"],
    [{ budget: { usd: 1_000_000_001, per: "day" } }, "limits.budget"],
    [{ budget: { usd: Number.NaN, per: "day" } }, "limits.budget"],
    [{ budget: { tokens: 0, per: "day" } }, "limits.budget"],
    [{ budget: { tokens: 1.5, per: "day" } }, "limits.budget"],
    [{ budget: { tokens: 1_000_000_000_001, per: "day" } }, "limits.budget"],
  ])("are refused beyond them: %j", (limits, field) => {
    expect(() => checkLimits({ ...LIMITS, ...limits })).toThrow(expect.objectContaining({ field }));
  });

  it("without a value are null", () => {
    expect(checkLimits(LIMITS)).toBeNull();
  });
});
