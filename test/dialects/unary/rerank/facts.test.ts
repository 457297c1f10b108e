import { describe, expect, it } from "vitest";
import { answerOf, bytesOf, canon, parsed, rerankerOf, type Ranked } from "./target.ts";

describe("facts of each protocol beside the results", () => {
  const all: Ranked = [
    [0, 3],
    [1, 2],
    [2, 1],
  ];

  it("Cohere: search units and tokens are read from meta", () => {
    const meta = {
      api_version: { version: "2" },
      billed_units: { search_units: 2 },
      tokens: { input_tokens: 90 },
    };
    expect(parsed("cohere", { ...answerOf("cohere", all), id: "i", meta }, canon())).toMatchObject({
      searchUnits: 2,
      inputTokens: 90,
    });
  });

  it("Cohere through Bedrock: a count of -1 is no count", () => {
    const meta = {
      billed_units: { search_units: -1, input_tokens: -1 },
      tokens: { input_tokens: -1 },
    };
    expect(parsed("invoke", { ...answerOf("invoke", all), meta }, canon())).toMatchObject({
      searchUnits: null,
      inputTokens: null,
    });
  });

  it.each([
    [{ total_tokens: 12 }, 12, null],
    [{ prompt_tokens: 11, total_tokens: 12 }, 11, null],
    [{ total_tokens: 12, search_units: 1, cost: 0.002 }, 12, 1],
    [{ total_tokens: "12" }, null, null],
  ])("Jina: usage %j has %s tokens and %s search units", (usage, inputTokens, searchUnits) => {
    const answer = { ...answerOf("jina", all), model: "jina-reranker-v3", usage };
    expect(parsed("jina", answer, canon())).toMatchObject({
      inputTokens,
      searchUnits,
      model: "jina-reranker-v3",
    });
  });

  it("Jina: results under `data` are read, and their documents ignored", () => {
    const data = all.map(([index, score]) => ({
      index,
      relevance_score: score,
      document: { text: "an echo" },
    }));
    const result = parsed("jina", { data }, canon());
    expect(result).toMatchObject({
      operation: "rerank",
      results: [{ index: 0 }, { index: 1 }, { index: 2 }],
    });
    expect(JSON.stringify(result)).not.toContain("echo");
  });

  it("Voyage: the tokens and the model are read", () => {
    const answer = {
      ...answerOf("voyage", all),
      object: "list",
      model: "rerank-2.5",
      usage: { total_tokens: 43 },
    };
    expect(parsed("voyage", answer, canon())).toMatchObject({
      inputTokens: 43,
      model: "rerank-2.5",
      searchUnits: null,
    });
  });

  it("Bedrock: a next page is a failure, even after enough results", () => {
    const answer = answerOf("bedrock", all);
    expect(parsed("bedrock", { ...answer, nextToken: null }, canon())).toMatchObject({
      operation: "rerank",
    });
    for (const nextToken of ["more", ""]) {
      expect(parsed("bedrock", { ...answer, nextToken }, canon({ topN: 1 }))).toMatchObject({
        code: "result_count",
      });
    }
  });
});

describe("errors", () => {
  const secret = "s3cret-canary";

  it.each([
    ["cohere", { message: secret }, null],
    ["cohere", { message: `too many tokens: ${secret}` }, "context_length_exceeded"],
    ["invoke", { message: secret, __type: "x#ThrottlingException" }, "rate_limited"],
    ["jina", { error: { message: secret, code: "model_not_found" } }, "model_not_found"],
    ["jina", { object: "error", message: secret, code: 404 }, null],
    ["voyage", { error: { message: secret } }, null],
    ["bedrock", { message: secret, __type: "ThrottlingException" }, "rate_limited"],
  ] as const)("%s: an error with status 200 is a failure: %j", (name, answer, code) => {
    const result = parsed(name, answer, canon());
    expect(result).toMatchObject({ kind: "error_frame", code });
    expect(JSON.stringify(result)).not.toContain(secret);
  });

  it.each([
    [
      "cohere",
      400,
      { message: `too many tokens: ${secret}` },
      "rejected",
      "context_length_exceeded",
    ],
    ["cohere", 429, { message: secret }, "rate_limited", null],
    [
      "invoke",
      400,
      { message: secret, __type: "a#ValidationException" },
      "rejected",
      "invalid_request",
    ],
    ["invoke", 424, { message: secret }, "server_error", null],
    [
      "invoke",
      424,
      { message: `too many tokens: ${secret}` },
      "server_error",
      "context_length_exceeded",
    ],
    [
      "invoke",
      400,
      { message: `too many tokens: ${secret}`, __type: "ValidationException" },
      "rejected",
      "context_length_exceeded",
    ],
    ["jina", 422, { detail: secret }, "rejected", null],
    ["voyage", 400, { detail: secret }, "rejected", null],
    ["voyage", 401, { detail: secret }, "auth", null],
    ["bedrock", 403, { message: secret, __type: "AccessDeniedException" }, "auth", "access_denied"],
    ["bedrock", 503, { message: secret }, "overloaded", null],
  ] as const)("%s: status %i with %j is %s", (name, status, body, kind, code) => {
    const failure = rerankerOf(name).readError(status, bytesOf(body));
    expect(failure).toEqual({ kind, status, retryAfter: null, code });
  });
});
