import { describe, expect, it } from "vitest";
import type { EmbedRequest } from "../../../../src/canon/unary.ts";
import type { DialectName } from "../../../../src/dialects/table.ts";
import { asking, base64Of, embedderOf, read, wire, type TargetOptions } from "./target.ts";

const ONE = asking({ inputs: ["one"] });
const BASE64 = asking({ encoding: "base64" });
const flagged = (...flags: readonly string[]): TargetOptions => ({ provider: { flags } });
const predicted = flagged("predict_embeddings");

const openAi = (embeddings: readonly unknown[], more: object = {}): object => ({
  object: "list",
  data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
  model: "m-1",
  usage: { prompt_tokens: 7, total_tokens: 7 },
  ...more,
});
const FLOATS = openAi([
  [1, 2],
  [3, 4],
]);
const PACKED = openAi([base64Of([1, 2]), base64Of([3, 4])]);
const float = (text: string) => ({ dimension: 2, encoding: "float", text });
const VECTORS = [float("[1,2]"), float("[3,4]")];

type Row = readonly [
  what: string,
  dialect: DialectName,
  answer: unknown,
  options: TargetOptions,
  expected: object,
];

const ANSWERS: readonly Row[] = [
  [
    "Voyage's",
    "voyage",
    openAi(
      [
        [1, 2],
        [3, 4],
      ],
      { usage: { total_tokens: 9 } },
    ),
    {},
    { vectors: VECTORS, inputTokens: 9, model: "m-1" },
  ],
  [
    "Cohere's",
    "cohere-chat",
    {
      id: "x",
      texts: ["one [1,2]", "two"],
      embeddings: {
        float: [
          [1, 2],
          [3, 4],
        ],
      },
      meta: { billed_units: { input_tokens: 5 } },
    },
    {},
    { vectors: VECTORS, inputTokens: 5, model: null },
  ],
  [
    "Cohere's older one on Bedrock",
    "cohere-chat",
    {
      embeddings: [
        [1, 2],
        [3, 4],
      ],
      response_type: "embeddings_floats",
    },
    flagged("bedrock_invoke"),
    { vectors: VECTORS, inputTokens: null, model: null },
  ],
  [
    "Gemini's",
    "gemini",
    {
      embeddings: [{ values: [1, 2] }, { values: [3, 4] }],
      usageMetadata: { promptTokenCount: 3 },
    },
    {},
    { vectors: VECTORS, inputTokens: 3, model: null },
  ],
  [
    "Gemini's without counts",
    "gemini",
    { embeddings: [{ values: [1, 2] }, { values: [3, 4] }] },
    {},
    { vectors: VECTORS, inputTokens: null },
  ],
  [
    "Vertex AI's",
    "gemini",
    {
      predictions: [
        { embeddings: { values: [1, 2], statistics: { token_count: 3, truncated: false } } },
        { embeddings: { statistics: { token_count: 4 }, values: [3, 4] } },
      ],
    },
    predicted,
    { vectors: VECTORS, inputTokens: 7, model: null },
  ],
  [
    "Vertex AI's with one count missing",
    "gemini",
    {
      predictions: [
        { embeddings: { values: [1, 2], statistics: { token_count: 3 } } },
        { embeddings: { values: [3, 4] } },
      ],
    },
    predicted,
    { vectors: VECTORS, inputTokens: null },
  ],
];

const SINGLE: readonly Row[] = [
  [
    "Titan's",
    "bedrock-titan-embed",
    { embedding: [1, 2], embeddingsByType: { float: [1, 2] }, inputTextTokenCount: 4 },
    {},
    { vectors: [float("[1,2]")], inputTokens: 4 },
  ],
  [
    "Nova's",
    "bedrock-nova-embed",
    { embeddings: [{ embeddingType: "TEXT", embedding: [1, 2] }] },
    {},
    { vectors: [float("[1,2]")], inputTokens: null },
  ],
  [
    "Vertex AI's of one content",
    "gemini",
    { embedding: { values: [1, 2] }, usageMetadata: { promptTokenCount: 11 } },
    flagged("embed_content"),
    { vectors: [float("[1,2]")], inputTokens: 11 },
  ],
];

describe("answers with embeddings", () => {
  it.each(ANSWERS)(
    "such as %s are understood (%s)",
    (_what, dialect, answer, options, expected) => {
      expect(read(dialect, answer, asking(), options)).toMatchObject({
        operation: "embed",
        isVerbatim: false,
        ...expected,
      });
    },
  );

  it.each(SINGLE)(
    "to one input, such as %s, are understood (%s)",
    (_what, dialect, answer, options, expected) => {
      expect(read(dialect, answer, ONE, options)).toMatchObject({
        operation: "embed",
        isVerbatim: false,
        ...expected,
      });
    },
  );

  it.each<[string, unknown, EmbedRequest, TargetOptions, boolean]>([
    ["numbers where nothing was said", FLOATS, asking(), {}, true],
    ["numbers where they were requested", FLOATS, asking({ encoding: "float" }), {}, true],
    ["numbers where base64 was requested", FLOATS, BASE64, {}, false],
    ["base64 where it was requested", PACKED, BASE64, {}, true],
    ["base64 where nothing was said", PACKED, asking(), {}, false],
    [
      "bytes in base64 where base64 was requested",
      openAi(["AQI=", "AwQ="]),
      BASE64,
      flagged("int8_vectors"),
      false,
    ],
    [
      "bytes in base64 where nothing was said",
      openAi(["AQI=", "AwQ="]),
      asking(),
      flagged("int8_vectors"),
      false,
    ],
    ["members beside ours", { ...FLOATS, id: "x", provider: "p" }, asking(), {}, true],
    ["no object member", { ...FLOATS, object: undefined }, asking(), {}, false],
    ["no usage", { ...FLOATS, usage: undefined }, asking(), {}, false],
    ["half of the usage", { ...FLOATS, usage: { total_tokens: 1 } }, asking(), {}, false],
    ["no total", { ...FLOATS, usage: { prompt_tokens: 1 } }, asking(), {}, false],
    ["no model", { ...FLOATS, model: null }, asking(), {}, false],
    [
      "no object member of an item",
      {
        ...FLOATS,
        data: [
          { index: 0, embedding: [1, 2] },
          { object: "embedding", index: 1, embedding: [3, 4] },
        ],
      },
      asking(),
      {},
      false,
    ],
    [
      "another order",
      {
        ...FLOATS,
        data: [
          { object: "embedding", index: 1, embedding: [3, 4] },
          { object: "embedding", index: 0, embedding: [1, 2] },
        ],
      },
      asking(),
      {},
      false,
    ],
  ])(
    "of OpenAI's protocol with %s are relayed unchanged, or not",
    (_what, answer, request, options, isVerbatim) => {
      const result = read("openai-chat", answer, request, options);
      expect(result).toMatchObject({ operation: "embed", isVerbatim });
      if ("kind" in result) throw new Error("unreachable");
      const numbers = result.vectors.map(({ encoding, text }): unknown =>
        encoding === "float" ? JSON.parse(text) : text,
      );
      expect([
        [
          [1, 2],
          [3, 4],
        ],
        [base64Of([1, 2]), base64Of([3, 4])],
      ]).toContainEqual(numbers);
    },
  );

  const verbatimText = (printed: string): unknown => {
    const result = read("openai-chat", printed);
    return "kind" in result
      ? result.code
      : [result.isVerbatim, result.vectors.map(({ text }) => text)];
  };
  const printed = JSON.stringify(FLOATS);

  it.each([
    ["as one line", printed],
    ["with lines and spaces", JSON.stringify(FLOATS, null, 2)],
    ["with spaces around everything", printed.replaceAll(/[:,{}[\]]/g, " \r\n\t$& ")],
    ["with an escape in a name", printed.replaceAll('"index"', String.raw`"\u0069ndex"`)],
    [
      "with texts that look like names",
      printed.replace('"m-1"', String.raw`"\"index\":1.0,\"index\":\\"`),
    ],
    [
      "with the same name in objects within each other",
      printed.replace(/}$/, ',"meta":{"data":{"data":1}}}'),
    ],
  ])("of OpenAI's protocol, printed %s, are relayed unchanged", (_what, text) => {
    expect(verbatimText(text)).toMatchObject([true, { length: 2 }]);
  });

  it.each<[string, string, string, string[]]>([
    ["two indices", '"index":1,', '"index":0,"index":1,', ["[1,2]", "[3,4]"]],
    [
      "two indices, one with an escape",
      '"index":1,',
      String.raw`"\u0069ndex":0,"index":1,`,
      ["[1,2]", "[3,4]"],
    ],
    ["two vectors", '"embedding":[3,4]', '"embedding":[5,6],"embedding":[3,4]', ["[1,2]", "[3,4]"]],
    ["two lists", '"data":', '"data":[],"data":', ["[1,2]", "[3,4]"]],
    ["two names of the model", '"model":', '"model":"m-2","model":', ["[1,2]", "[3,4]"]],
    [
      "two counts",
      '"prompt_tokens":7',
      '"prompt_tokens":8,"prompt_tokens" : 7',
      ["[1,2]", "[3,4]"],
    ],
    [
      "a repeated unknown name",
      '"object":"list"',
      '"object":"list","x":{"a":1,"b":{},"a":1}',
      ["[1,2]", "[3,4]"],
    ],
    ["an index of 1.0", '"index":1,', '"index":1.0,', ["[1,2]", "[3,4]"]],
    ["an index of 1e0", '"index":1,', '"index": 1e0 ,', ["[1,2]", "[3,4]"]],
    ["an index of 10E-1", '"index":1,', '"index":10E-1,', ["[1,2]", "[3,4]"]],
    ["an index of -0", '"index":0,', '"index":-0,', ["[1,2]", "[3,4]"]],
    [
      "an index that a double rounds",
      '"index":1,',
      '"index":1.0000000000000000001,',
      ["[1,2]", "[3,4]"],
    ],
    [
      "an index of 1.0 by an escaped name",
      '"index":1,',
      String.raw`"inde\u0078":1.0,`,
      ["[1,2]", "[3,4]"],
    ],
  ])(
    "of OpenAI's protocol with %s are printed anew from the vectors as read",
    (_what, from, to, vectors) => {
      expect(printed).toContain(from);
      expect(verbatimText(printed.replace(from, to))).toEqual([false, vectors]);
    },
  );

  it("count tokens and name the model as OpenAI's protocol does", () => {
    expect(read("openai-chat", FLOATS)).toMatchObject({ inputTokens: 7, model: "m-1" });
    const silent = read("openai-chat", { ...FLOATS, usage: { prompt_tokens: "7" }, model: "" });
    expect(silent).toMatchObject({ inputTokens: null, model: null });
  });

  it("in base64 of other numbers than single-precision ones are not taken for such", () => {
    expect(read("openai-chat", PACKED, BASE64, flagged("float_vectors"))).toMatchObject({
      code: "vector_malformed",
    });
    expect(read("openai-chat", FLOATS, BASE64, flagged("float_vectors"))).toMatchObject({
      vectors: VECTORS,
    });
  });

  it.each<[string, Partial<EmbedRequest>, number | null, string | null]>([
    ["the length requested", { dimensions: 2 }, 3, null],
    ["the model's own length", {}, 2, null],
    ["any length where neither is known", {}, null, null],
    ["another length than the one requested", { dimensions: 3 }, 2, "dimension_wrong"],
    ["another length than the model's own", {}, 3, "dimension_wrong"],
  ])(
    "with vectors of %s (%j, model's own length %j) have the fault %j",
    (_what, request, defaultDimensions, code) => {
      const result = read("openai-chat", FLOATS, asking(request), { model: { defaultDimensions } });
      expect("kind" in result ? result.code : null).toBe(code);
    },
  );

  it.each<[string, readonly unknown[], string]>([
    ["one result fewer", [0], "result_count"],
    ["one result more", [0, 1, 1], "result_count"],
    ["no results", [], "result_count"],
    ["the same index twice", [1, 1], "index_repeated"],
    ["an index beyond the request", [0, 2], "index_invalid"],
    ["an index below zero", [0, -1], "index_invalid"],
    ["an index between two positions", [0, 0.5], "index_invalid"],
    ["an index that is a text", [0, "1"], "index_invalid"],
    ["no index", [0, undefined], "index_invalid"],
  ])("with %s are faults, in every protocol with indices", (_what, indices, code) => {
    const data = indices.map((index) => ({ object: "embedding", index, embedding: [1, 2] }));
    for (const dialect of ["openai-chat", "voyage"] as const) {
      expect(read(dialect, { ...FLOATS, data })).toMatchObject({ kind: "malformed", code });
    }
  });

  it.each<[string, DialectName, unknown, TargetOptions, string | null]>([
    [
      "an error",
      "openai-chat",
      { error: { code: "context_length_exceeded", message: "secret" } },
      {},
      "context_length_exceeded",
    ],
    [
      "an older error",
      "openai-chat",
      { object: "error", message: "secret", code: 40_303 },
      {},
      null,
    ],
    ["an error", "voyage", { error: { type: "model_not_found" } }, {}, "model_not_found"],
    [
      "an error",
      "cohere-chat",
      { message: "too many tokens: secret" },
      {},
      "context_length_exceeded",
    ],
    [
      "an error",
      "cohere-chat",
      { message: "secret", __type: "x#ThrottlingException" },
      {},
      "rate_limited",
    ],
    [
      "an error",
      "gemini",
      { error: { code: 400, status: "INVALID_ARGUMENT", message: "secret" } },
      {},
      "invalid_argument",
    ],
    ["an error", "gemini", { error: { status: "NOT_FOUND" } }, predicted, "model_not_found"],
    [
      "an error",
      "bedrock-titan-embed",
      { message: "secret", __type: "com.x#ValidationException" },
      {},
      "invalid_request",
    ],
    [
      "an error",
      "bedrock-nova-embed",
      { message: "Input is too long" },
      {},
      "context_length_exceeded",
    ],
  ])("that are %s fail with an error (%s)", (_what, dialect, answer, options, code) => {
    const result = read(dialect, answer, ONE, options);
    expect(result).toMatchObject({ kind: "error_frame", retryAfter: null, code });
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  it.each<[DialectName, TargetOptions]>([
    ["openai-chat", {}],
    ["voyage", {}],
    ["cohere-chat", {}],
    ["gemini", {}],
    ["gemini", predicted],
    ["bedrock-titan-embed", {}],
    ["bedrock-nova-embed", {}],
  ])("that are no answers of %s are malformed", (dialect, options) => {
    for (const answer of ["", "[1,2]", "null", "{", "\u0000"]) {
      expect(read(dialect, answer, ONE, options)).toMatchObject({
        kind: "malformed",
        code: "not_json",
      });
    }
    expect(read(dialect, {}, ONE, options)).toMatchObject({
      kind: "malformed",
      code: "missing_results",
    });
    // A list of numbers instead of the list of vectors.
    for (const name of ["data", "embeddings", "predictions"]) {
      expect(read(dialect, { [name]: [1] }, ONE, options)).toMatchObject({ kind: "malformed" });
    }
  });
});

describe("answers of long vectors, which are counted 64 bytes at a time", () => {
  const numbers = (length: number): readonly number[] =>
    Array.from({ length }, (_, index) => ((index * 7_919) % 2_000) / 1e7 - 1e-4);
  const long = JSON.stringify(openAi([numbers(300), numbers(300)]));
  const inside = long.indexOf("e-", long.lastIndexOf("[")) - 3;
  const verdict = (text: string): unknown => {
    const result = read("openai-chat", text, asking(), { model: { defaultDimensions: 300 } });
    return "kind" in result ? result.code : result.isVerbatim;
  };

  it("are relayed unchanged where they are valid", () => {
    expect(verdict(long)).toBe(true);
    expect(verdict(long.replaceAll(",-", ", -"))).toBe(true);
  });

  it.each<[string, string, unknown]>([
    ["cut off in a vector", long.slice(0, inside), "not_json"],
    ["cut off after a vector", long.slice(0, long.lastIndexOf("]}")), "not_json"],
    ["one byte short", long.slice(0, -1), "not_json"],
    ["something after their end", `${long}}`, "not_json"],
    ["another answer after their end", long + long, "not_json"],
    ["a letter in a number", `${long.slice(0, inside)}a${long.slice(inside + 1)}`, "not_json"],
    [
      "a zero byte in a number",
      `${long.slice(0, inside)}\u0000${long.slice(inside + 1)}`,
      "not_json",
    ],
    [
      "a second point in a number",
      `${long.slice(0, inside)}.${long.slice(inside + 1)}`,
      "not_json",
    ],
    ["a comma more", long.replace("[-", "[,-"), "not_json"],
    ["a comma at the end of a vector", long.replace("]}", ",]}"), "not_json"],
    ["a zero before a number", long.replace("[-", "[-0"), "not_json"],
    ["a bracket more in a vector", long.replace("[-", "[[-"), "not_json"],
    ["null in a vector", long.replace("[-", "[null,-"), "vector_malformed"],
    ["a text in a vector", long.replace("[-", '["1",-'), "vector_malformed"],
    ["a list in a vector", long.replace("[-", "[[1],-"), "vector_malformed"],
    ["a number that is not finite", long.replace("[-", "[1e999,-"), "vector_not_finite"],
    ["one number more in one vector", long.replace("[-", "[0,-"), "dimension_mixed"],
    ["one number more in every vector", long.replaceAll("[-", "[0,-"), "dimension_wrong"],
    ["one number fewer in one vector", long.replace(/\[-[^,]+,/, "["), "dimension_mixed"],
    ["one vector fewer", JSON.stringify(openAi([numbers(300)])), "result_count"],
    ["one vector more", JSON.stringify(openAi([1, 2, 3].map(() => numbers(300)))), "result_count"],
    ["an index twice", long.replace('"index":1', '"index":0'), "index_repeated"],
    [
      "an index that is not of the request",
      long.replace('"index":1', '"index":2'),
      "index_invalid",
    ],
    [
      "vectors under another name",
      long.replaceAll('"embedding":[', '"vector":['),
      "vector_malformed",
    ],
    [
      "a vector that only looks like one in a text",
      long.replace('"embedding":[-', String.raw`"x":"\"embedding\":[-`).replace("]}", ']"}'),
      "vector_malformed",
    ],
    [
      "a vector one object further in",
      long.replace('"embedding":[', '"x":{"embedding":[').replace("]}", "]}}"),
      "vector_malformed",
    ],
    ["the list of vectors one object further in", `{"x":${long}}`, "missing_results"],
  ])("are refused with %s", (_what, text, code) => {
    expect(text).not.toBe(long);
    expect(verdict(text)).toBe(code);
  });

  it.each<[string, string]>([
    [
      "another order",
      JSON.stringify({
        ...openAi([]),
        data: [1, 0].map((index) => ({ object: "embedding", index, embedding: numbers(300) })),
      }),
    ],
    [
      "a vector twice under one name",
      long.replace('"embedding":[', '"embedding":[1,2],"embedding":['),
    ],
    [
      "a name twice, once with an escape",
      long.replace('"embedding":[', String.raw`"\u0065mbedding":[1,2],"embedding":[`),
    ],
    ["an index that is no plain number", long.replace('"index":1', '"index":1.0')],
  ])("are not relayed with %s", (_what, text) => {
    expect(verdict(text)).toBe(false);
  });

  it("are read where a name is written with an escape", () => {
    expect(verdict(long.replaceAll('"embedding":[', String.raw`"\u0065mbedding":[`))).toBe(true);
  });
});

describe("errors of providers that embed", () => {
  it.each<[DialectName, number, unknown, object]>([
    [
      "openai-chat",
      404,
      { error: { code: "model_not_found" } },
      { kind: "not_found", code: "model_not_found" },
    ],
    ["voyage", 400, { detail: "secret" }, { kind: "rejected", code: null }],
    ["voyage", 429, { detail: "secret" }, { kind: "rate_limited", code: null }],
    [
      "cohere-chat",
      400,
      { message: "too many tokens: secret" },
      { kind: "rejected", code: "context_length_exceeded" },
    ],
    ["cohere-chat", 424, { message: "secret" }, { kind: "server_error", code: null }],
    [
      "cohere-chat",
      400,
      { __type: "x#ValidationException" },
      { kind: "rejected", code: "invalid_request" },
    ],
    [
      "cohere-chat",
      424,
      { message: "too many tokens: secret" },
      { kind: "server_error", code: "context_length_exceeded" },
    ],
    [
      "cohere-chat",
      400,
      { message: "too many tokens: secret", __type: "ValidationException" },
      { kind: "rejected", code: "context_length_exceeded" },
    ],
    [
      "gemini",
      404,
      { error: { status: "NOT_FOUND" } },
      { kind: "not_found", code: "model_not_found" },
    ],
    ["bedrock-titan-embed", 424, { message: "secret" }, { kind: "server_error", code: null }],
    ["bedrock-nova-embed", 403, {}, { kind: "auth", code: null }],
  ])("of %s with status %d are read in its family's way", (dialect, status, body, expected) => {
    const failure = embedderOf(dialect).readError(status, wire(body));
    expect(failure).toMatchObject({ status, ...expected });
    expect(JSON.stringify(failure)).not.toContain("secret");
  });
});
