import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../src/canon/failure.ts";
import type { JsonObject } from "../../src/canon/json.ts";
import { OPENAI_FAMILY } from "../../src/dialects/openai-chat/family.ts";
import {
  costOf,
  estimateRequest,
  type Estimate,
  type EstimatedRequest,
  type Used,
  usedBy as settledBy,
  usedByParts as settledByParts,
} from "../../src/limits/estimate.ts";
import {
  plausibleParts,
  plausibleUsage,
  reportedCost,
  type EndedAttempt,
  type EndedRequest,
} from "../../src/limits/cost.ts";
import { CHAT_BODY, COMPLETIONS_BODY, RERANK_BODY } from "../support/body-readers.ts";
import { endpoint, model } from "../support/table.ts";

const requested = (more: Partial<EstimatedRequest> = {}): EstimatedRequest => ({
  operation: "chat.completions",
  body: {},
  reader: CHAT_BODY,
  bytes: 1_000,
  needs: [],
  edits: { maxOutputTokens: null, stripFields: [] },
  calls: 1,
  ...more,
});

const completion = (body: JsonObject): EstimatedRequest =>
  requested({ operation: "completions", body, reader: COMPLETIONS_BODY });

const cheap = endpoint("cheap", { price: { input: 1, output: 2, request: 0 } });
const dear = endpoint("dear", { price: { input: 3, output: 15, request: 0.01 } });
const large = model("m", { contextWindow: 8_000, maxOutputTokens: 4_000 });
const tokensOf = (request: EstimatedRequest, row = large): number =>
  estimateRequest(request, [{ endpoint: cheap, model: row }]).amounts.tokens;

describe("the most that a request may use", () => {
  it.each([
    ["what it requests", requested({ body: { max_tokens: 100 } }), 1_064 + 100],
    [
      "the most of what it requests",
      requested({ body: { max_tokens: 100, max_completion_tokens: 300 } }),
      1_064 + 300,
    ],
    ["what the model makes, where it requests nothing", requested(), 1_064 + 4_000],
    [
      "what the model makes, where it requests more",
      requested({ body: { max_output_tokens: 1e9 } }),
      1_064 + 4_000,
    ],
    [
      "what a policy leaves",
      requested({ edits: { maxOutputTokens: 50, stripFields: [] } }),
      1_064 + 50,
    ],
    ["each of several answers", requested({ body: { n: 3, max_tokens: 100 } }), 1_064 + 300],
    [
      "what providers say of tools",
      requested({ body: { tools: [], max_tokens: 1 } }),
      1_064 + 1_024 + 1,
    ],
    [
      "no more than the context window",
      requested({ bytes: 1e6, body: { max_tokens: 1 } }),
      8_000 + 1,
    ],
    ["only input, where nothing is generated", requested({ operation: "embeddings" }), 1_064],
    [
      "each text of a batch, beyond one window",
      requested({ operation: "embeddings", bytes: 1e6 }),
      1_000_064,
    ],
    [
      "an answer to each prompt of a list",
      completion({ prompt: ["a", "b", "c"], max_tokens: 100 }),
      1_064 + 300,
    ],
    [
      "each of several answers to each prompt",
      completion({ prompt: ["a", "b"], n: 2, max_tokens: 10 }),
      1_064 + 40,
    ],
    [
      "all that is generated to choose from",
      completion({ prompt: ["a", "b"], best_of: 5, n: 2 }),
      1_064 + 40_000,
    ],
    [
      "one answer to one prompt of tokens",
      completion({ prompt: [1, 2, 3], max_tokens: 100 }),
      1_064 + 100,
    ],
    [
      "an answer to each prompt of tokens",
      completion({ prompt: [[1, 2], [3]], max_tokens: 100 }),
      1_064 + 200,
    ],
    [
      "a context window for each prompt",
      { ...completion({ prompt: ["a", "b"], max_tokens: 1 }), bytes: 1e6 },
      16_002,
    ],
    [
      "the query once with each document",
      requested({
        operation: "rerank",
        reader: RERANK_BODY,
        body: { query: "four", documents: ["", "", ""] },
      }),
      1_064 + 12,
    ],
    [
      "nothing, where tokens are only counted",
      requested({ operation: "messages.count_tokens" }),
      0,
    ],
  ])("is %s", (_, request, tokens) => {
    expect(tokensOf(request)).toBe(tokens);
  });

  it("has an allowance for content without bytes in the body", () => {
    const body = {
      max_tokens: 1,
      messages: [
        {
          content: [
            { type: "image_url" },
            { type: "text" },
            { type: "tool_result", content: [{ type: "image" }] },
          ],
        },
      ],
    };
    const wide = { ...large, contextWindow: null };
    expect(tokensOf(requested({ body, needs: ["image_input"] }), wide)).toBe(
      1_064 + 2 * 16_384 + 1,
    );
    let deep: object = { type: "image" };
    for (let level = 0; level < 20; level += 1) deep = { content: [deep] };
    expect(
      tokensOf(requested({ body: { max_tokens: 1, ...deep }, needs: ["image_input"] }), wide),
    ).toBe(1_064 + 16_384 + 1);
  });

  it("is an allowance where neither the request nor the model has a limit", () => {
    expect(tokensOf(requested(), { ...large, contextWindow: null, maxOutputTokens: null })).toBe(
      1_064 + 16_384,
    );
  });

  const unstated = { ...large, contextWindow: null, maxOutputTokens: null };
  it.each([
    ["a window and a maximum", {}, large, [8_000, 4_000, 4_000, 8_000]],
    [
      "a smaller maximum of the request",
      { body: { max_tokens: 50 } },
      large,
      [8_000, 50, 4_000, 8_000],
    ],
    ["a window alone", {}, { ...large, maxOutputTokens: null }, [8_000, 8_000, 8_000, 8_000]],
    [
      "a window that is wide",
      {},
      { ...large, contextWindow: 1_000_000 },
      [131_072, 4_000, 4_000, 1_000_000],
    ],
    ["neither", {}, unstated, [131_072, 262_144, 262_144, 2 ** 41]],
    [
      "neither, of a long body",
      { bytes: 99_936 },
      unstated,
      [1_600_000, 262_144, 262_144, 2 ** 41],
    ],
    ["a maximum alone", {}, { ...large, contextWindow: null }, [131_072, 4_000, 4_000, 2 ** 41]],
    ["tools of the provider", { needs: ["web_search"] }, large, [128_000, 64_000, 64_000, 128_000]],
    [
      "tools of the provider and a wide window",
      { needs: ["web_search"] },
      { ...large, contextWindow: 1_000_000 },
      [16_000_000, 64_000, 64_000, 16_000_000],
    ],
    [
      "tools of the provider alone",
      { needs: ["mcp"] },
      unstated,
      [2_097_152, 4_194_304, 4_194_304, 2 ** 41],
    ],
    ["several answers", { body: { n: 3 } }, large, [8_000, 12_000, 12_000, 24_000]],
    ["answers beyond number", { body: { n: 1e300 } }, large, [8_000, 2 ** 40, 2 ** 40, 2 ** 41]],
    ["no output", { operation: "messages.count_tokens" }, large, [131_072, 0, 0, 2 ** 41]],
  ] as const)(
    "bounds the count of a provider, by %s",
    (_, more, row, [input, output, reasonedOutput, sum]) => {
      const { bounds } = estimateRequest(requested(more), [
        { endpoint: cheap, model: row },
        { endpoint: dear, model: { ...large, contextWindow: 1, maxOutputTokens: 1 } },
      ]);
      expect(bounds).toMatchObject({ input, output, reasonedOutput, sum });
    },
  );

  it("costs the price of the dearest endpoint, at every position in the plan", () => {
    const endpoints = [dear, cheap].map((each) => ({ endpoint: each, model: large }));
    const request = requested({ body: { max_tokens: 100 }, calls: 2 });
    const micro = 1_064 * 3 + 100 * 15 + 20_000;
    expect(estimateRequest(request, endpoints).amounts.micro_usd).toBe(micro);
    expect(estimateRequest(request, endpoints.toReversed()).amounts.micro_usd).toBe(micro);
  });

  it("costs nothing without a price", () => {
    const free = { endpoint: endpoint("free", { price: null }), model: large };
    expect(estimateRequest(requested(), [free]).amounts.micro_usd).toBe(0);
  });

  it("rounds money up, and not because of a double's last digit", () => {
    expect(costOf({ input: 0.1, output: 0.2, request: 0 }, 1, 0, 0)).toBe(1);
    expect(costOf({ input: 0.1, output: 0.2, request: 0 }, 10, 10, 0)).toBe(3);
    expect(costOf(null, 10, 10, 1)).toBe(0);
  });
});

const estimate: Estimate = {
  amounts: { requests: 1, tokens: 1_500, micro_usd: 9_999 },
  input: 1_000,
  output: 500,
  likelyInput: () => 300,
  bounds: {
    input: 1_000_000,
    output: 1_000_000,
    reasonedOutput: 1_000_000,
    sum: 2_000_000,
    likelyInput: () => 300,
    reservedOutput: 500,
  },
};

function attempt(
  failure: FailureKind | null,
  status: number | null = null,
  at = cheap,
): EndedAttempt {
  return { endpoint: at, failure, status, calls: 1 };
}

type UsedRequest = Omit<EndedRequest, "countsOnly"> & Partial<EndedRequest>;

/** With the cost that the evidence would have. */
function usedBy(made: Estimate, { countsOnly = false, ...ended }: UsedRequest): Used | null {
  const known = { ...ended, countsOnly, usage: plausibleUsage(ended, made.bounds) };
  const used = settledBy(made, known, reportedCost(known));
  return used && { ...used, estimated: used.estimated || known.usage !== ended.usage };
}

/** Where the cost of a part is unknown. */
function usedByParts(
  made: Estimate,
  attempts: readonly EndedAttempt[],
  counted: number | null,
): Used | null {
  const answered = counted === null ? [] : [{ endpoint: cheap, inputTokens: counted, searches: 0 }];
  return settledByParts(made, attempts, plausibleParts(answered, made.bounds), null);
}

const usage = (input: number | null, output: number | null) => ({
  input,
  output,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
});

describe("the usage of a request", () => {
  it.each([
    ["what was counted", true, [attempt(null, 200)], usage(10, 20), 0, [30, 50]],
    [
      "at the price of who answered",
      true,
      [attempt("overloaded", 529, dear), attempt(null, 200)],
      usage(10, 20),
      0,
      [30, 50],
    ],
    [
      "the estimate, where the provider did not count",
      true,
      [attempt(null, 200)],
      null,
      0,
      [1_500, 2_000],
    ],
    [
      "half of it, where half was counted",
      true,
      [attempt(null, 200)],
      usage(10, null),
      0,
      [510, 1_010],
    ],
    [
      "input and the characters of a cut answer",
      false,
      [attempt("reset", 200)],
      usage(10, 1),
      400,
      [144, 278],
    ],
    [
      "likely input, where a cut answer has no count",
      false,
      [attempt("client_closed", 200)],
      null,
      400,
      [434, 568],
    ],
    [
      "no more output than was reserved",
      false,
      [attempt("reset", 200)],
      usage(10, 1),
      1e6,
      [510, 1_010],
    ],
    [
      "more, where more was counted",
      false,
      [attempt("truncated", 200)],
      usage(10, 700),
      0,
      [710, 1_410],
    ],
    [
      "what was counted, where tokens are long",
      true,
      [attempt(null, 200)],
      usage(10, 20),
      1_280,
      [30, 50],
    ],
    [
      "the characters, where the count is of a beginning",
      true,
      [attempt(null, 200)],
      usage(10, 12),
      1_200,
      [410, 810],
    ],
    [
      "the characters, where the count is of no output",
      true,
      [attempt(null, 200)],
      usage(10, 0),
      300,
      [110, 210],
    ],
    ["no output, where none came", true, [attempt(null, 200)], usage(10, 0), 0, [10, 10]],
    [
      "what was reserved, where nothing was counted: 0/0",
      true,
      [attempt(null, 200)],
      usage(0, 0),
      0,
      [1_500, 2_000],
    ],
    [
      "likely input, where a stream counted none",
      true,
      [attempt(null, 200)],
      usage(0, 20),
      60,
      [320, 340],
    ],
    [
      "input of a call whose end was not seen",
      true,
      [attempt("timeout_first_byte"), attempt(null, 200)],
      usage(10, 20),
      0,
      [40, 60],
    ],
    [
      "nothing but the request, where it was refused",
      false,
      [attempt("rejected", 400)],
      null,
      0,
      [0, 0],
    ],
  ] as const)("is %s", (_, whole, attempts, counted, outputCharacters, [tokens, microUsd]) => {
    const used = usedBy(estimate, {
      whole,
      attempts,
      usage: counted,
      outputCharacters,
      streamed: true,
    });
    expect(used?.amounts).toEqual({ requests: 1, tokens, micro_usd: microUsd });
  });

  it.each([
    ["counted whole", true, 200, usage(10, 20), 60, false],
    ["counted in part", true, 200, usage(10, null), 60, true],
    ["not counted", true, 200, null, 60, true],
    ["cut, and counted before", false, 200, usage(10, 100), 60, false],
    ["cut before the count", false, 200, usage(10, 1), 60, true],
    ["counted without input", true, 200, usage(0, 20), 60, true],
    ["refused", false, 400, null, 0, false],
  ] as const)(
    "of an answer %s is marked as estimated: whole %s, status %i",
    (_, whole, status, counted, length, is) => {
      const attempts = [attempt(whole ? null : "rejected", status)];
      const used = usedBy(estimate, {
        whole,
        attempts,
        usage: counted,
        outputCharacters: length,
        streamed: true,
      });
      expect(used?.estimated).toBe(is);
    },
  );

  it("for a cut stream is near the whole answer's, not a token a byte", () => {
    const text = "The quick brown fox jumps over the lazy dog. ".repeat(4_500);
    const body = { messages: [{ role: "user", content: text }] };
    const real = estimateRequest(requested({ body, bytes: JSON.stringify(body).length }), [
      { endpoint: cheap, model: undefined },
    ]);
    const cut = {
      whole: false,
      attempts: [attempt("client_closed", 200)],
      usage: null,
      streamed: true,
    };
    expect(real.amounts.tokens).toBeGreaterThan(200_000);
    const used = usedBy(real, { ...cut, outputCharacters: 40 })?.amounts.tokens ?? 0;
    expect(used).toBeGreaterThan(45_000);
    expect(used).toBeLessThan(55_000);
  });

  it("never exceeds the reservation while a provider counted nothing, for all answers", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.nat(10_000),
        fc.boolean(),
        (text, length, whole) => {
          const body = { max_tokens: 200, messages: [{ role: "user", content: text }] };
          const bytes = Buffer.byteLength(JSON.stringify(body));
          const real = estimateRequest(requested({ body, bytes }), [
            { endpoint: cheap, model: large },
          ]);
          const attempts = [attempt(whole ? null : "client_closed", 200)];
          const used = usedBy(real, {
            whole,
            attempts,
            usage: null,
            outputCharacters: length,
            streamed: true,
          });
          expect(used?.amounts.tokens).toBeLessThanOrEqual(real.amounts.tokens);
          expect(used?.amounts.tokens).toBeGreaterThan(0);
        },
      ),
    );
  });

  it.each([
    [
      "a picture by address",
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      16_384,
    ],
    ["a document in base64", { type: "file", file: { file_data: "A".repeat(1_000_000) } }, 131_072],
  ])("counts %s by its allowance, not by its characters", (_, part, allowance) => {
    const body = { messages: [{ role: "user", content: [part] }] };
    const needs = ["image_input", "file_input"] as const;
    const bytes = JSON.stringify(body).length;
    const real = estimateRequest(requested({ body, bytes, needs }), [
      { endpoint: cheap, model: undefined },
    ]);
    expect(real.likelyInput()).toBeGreaterThan(allowance);
    expect(real.likelyInput()).toBeLessThan(allowance + 50);
  });

  it.each([
    [
      "the estimate, where it was given up before it came",
      [attempt("client_closed")],
      null,
      [1_500, 2_000],
    ],
    ["the estimate, where its time was over", [attempt("timeout_total")], null, [1_500, 2_000]],
    ["the estimate, where it was cut", [attempt("reset", 200)], null, [1_500, 2_000]],
    ["what was counted, where that arrived", [attempt("reset", 200)], usage(10, 20), [30, 50]],
    ["nothing but the request, where it was refused", [attempt("rate_limited", 429)], null, [0, 0]],
    [
      "its input, where the provider said that it failed",
      [attempt("error_frame", 200)],
      null,
      [1_000, 1_000],
    ],
    [
      "the estimate once and the input of the other, where two did not come",
      [attempt("timeout_first_byte"), attempt("timeout_total"), attempt("rate_limited", 429)],
      null,
      [2_500, 3_000],
    ],
  ] as const)(
    "for a whole answer that did not arrive is %s",
    (_, attempts, counted, [tokens, microUsd]) => {
      const ended = {
        whole: false,
        attempts,
        usage: counted,
        outputCharacters: null,
        streamed: false,
      };
      expect(usedBy(estimate, ended)?.amounts).toEqual({
        requests: 1,
        tokens,
        micro_usd: microUsd,
      });
    },
  );

  it.each([
    "connect",
    "tls",
    "address_refused",
    "timeout_connect",
    "saturated",
    "credentials_missing",
  ] as const)("is nothing at all where no provider was reached: %s", (failure) => {
    expect(
      usedBy(estimate, {
        whole: false,
        attempts: [attempt(failure)],
        usage: null,
        outputCharacters: 0,
        streamed: true,
      }),
    ).toBeNull();
    expect(usedByParts(estimate, [attempt(failure)], null)).toBeNull();
  });

  it("counts every part of a batch that reached a provider once, after any number of attempts", () => {
    const parts = { ...estimate, amounts: { ...estimate.amounts, requests: 4 } };
    const calls = (failure: null | "server_error" | "connect", count: number): EndedAttempt => ({
      ...attempt(failure, failure === null ? 200 : null),
      calls: count,
    });
    expect(usedByParts(parts, [calls(null, 4)], 10)?.amounts.requests).toBe(4);
    expect(
      usedByParts(parts, [calls("server_error", 3), calls(null, 4)], 10)?.amounts.requests,
    ).toBe(4);
    expect(usedByParts(parts, [calls(null, 2), calls("connect", 2)], 10)?.amounts.requests).toBe(2);
  });

  it("is bounded by the possible, for all counts of a provider", () => {
    const absurd = [Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY, 1e300];
    const priced = endpoint("priced", { price: { input: 1e9, output: 1e9, request: 0 } });
    const real = estimateRequest(requested(), [{ endpoint: priced, model: large }]);
    expect(real.bounds).toMatchObject({
      input: 8_000,
      output: 4_000,
      reasonedOutput: 4_000,
      sum: 8_000,
    });
    for (const count of absurd) {
      const ended = {
        whole: true,
        attempts: [attempt(null, 200, priced)],
        usage: usage(count, count),
        outputCharacters: 0,
        streamed: true,
      };
      for (const used of [usedBy(real, ended), usedByParts(real, ended.attempts, count)]) {
        expect(used?.amounts.tokens).toBeLessThanOrEqual(8_000);
        expect(used?.amounts.micro_usd).toBeLessThanOrEqual(2 ** 45);
      }
    }
  });

  it("is the request where tokens were only counted", () => {
    const counting = estimateRequest(requested({ operation: "messages.count_tokens" }), [
      { endpoint: dear, model: large },
    ]);
    expect(counting).toMatchObject({
      amounts: { requests: 1, tokens: 0, micro_usd: 0 },
      output: 0,
    });
    const ended = {
      countsOnly: true,
      whole: true,
      attempts: [attempt(null, 200)],
      usage: usage(10, null),
      outputCharacters: 0,
      streamed: true,
    };
    expect(usedBy(counting, ended)).toEqual({ amounts: counting.amounts, estimated: false });
  });

  it.each([
    [
      "the tokens of all parts at the dearest price",
      [attempt(null, 200), attempt(null, 200, dear)],
      100,
      [100, 10_300],
    ],
    ["the estimate, where somebody did not count", [attempt(null, 200)], null, [1_000, 1_000]],
    ["the estimate, where the count is 0", [attempt(null, 200)], 0, [1_000, 1_000]],
    [
      "the estimate, where a call was lost",
      [attempt(null, 200), attempt("reset")],
      100,
      [1_000, 1_000],
    ],
    [
      "what was counted, where the rest was refused",
      [attempt(null, 200), attempt("rejected", 400)],
      100,
      [100, 100],
    ],
    ["nothing but the request, where all was refused", [attempt("rejected", 400)], null, [0, 0]],
  ] as const)("in parts is %s", (_, attempts, counted, [tokens, microUsd]) => {
    expect(usedByParts(estimate, attempts, counted)?.amounts).toEqual({
      requests: 1,
      tokens,
      micro_usd: microUsd,
    });
  });
});

describe("the time until a limit renews", () => {
  it.each([
    [0, "0s"],
    [1, "1s"],
    [59_001, "1m0s"],
    [360_000, "6m0s"],
    [3_600_000, "1h0m0s"],
    [90_061_000, "25h1m1s"],
  ])("%i ms is %s", (milliseconds, text) => {
    const limit = { limit: 1, remaining: 0, untilReset: milliseconds, resetAt: () => "" };
    const headers = OPENAI_FAMILY.limitHeaders("requests", limit);
    expect(headers.slice(-2)).toEqual(["x-ratelimit-reset-requests", text]);
  });
});
