import { describe, expect, it } from "vitest";

import { parseExchange, parseLimits } from "../../src/store/rows.ts";

const EXCHANGE = {
  maximumLifetime: 600,
  operations: ["embeddings"],
  routes: null,
  origins: ["https://a.example"],
};
const LIMITS = {
  requestsPerMinute: 1,
  tokensPerMinute: null,
  concurrency: 2,
  budget: { usd: 0.5, per: "month" },
};
const NOTHING = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0, budget: null };

describe("stored grants", () => {
  it("are read back unchanged", () => {
    expect(parseExchange(JSON.stringify(EXCHANGE))).toEqual(EXCHANGE);
    const weekly = { tokens: 9, per: "week", timeZone: "Europe/Berlin" };
    for (const limits of [LIMITS, { ...LIMITS, budget: weekly }])
      expect(parseLimits(JSON.stringify(limits))).toEqual(limits);
    expect([parseExchange(null), parseLimits(null)]).toEqual([null, null]);
    const later = { requestsPerMinute: 1, tokensPerMinute: null, concurrency: null, budget: null };
    expect(parseLimits(JSON.stringify({ ...later, ofLaterVersion: 1 }))).toEqual(later);
  });

  it("grant nothing for an operation that no longer exists", () => {
    expect(
      parseExchange(JSON.stringify({ ...EXCHANGE, operations: ["embeddings", "images"] }))
        ?.operations,
    ).toEqual(["embeddings"]);
    expect(
      parseExchange(JSON.stringify({ ...EXCHANGE, operations: ["images"] }))?.operations,
    ).toEqual([]);
  });

  it.each([
    "",
    "null",
    "[]",
    "{}",
    '"text"',
    JSON.stringify({ ...EXCHANGE, routes: "r" }),
    JSON.stringify({ ...EXCHANGE, origins: [1] }),
  ])("read as no exchange when damaged: %s", (text) => {
    expect(parseExchange(text)).toBeNull();
  });

  it.each([
    "",
    "null",
    "[]",
    "{}",
    JSON.stringify({ ...LIMITS, concurrency: "2" }),
    JSON.stringify({ ...LIMITS, budget: { usd: 1 } }),
    JSON.stringify({ ...LIMITS, budget: { usd: 1, per: "week", timeZone: "Mars/Olympus" } }),
  ])("read as no use at all when limits are damaged: %s", (text) => {
    expect(parseLimits(text)).toEqual(NOTHING);
  });
});
