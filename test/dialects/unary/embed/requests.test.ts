import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../src/canon/json.ts";
import type { EmbedRequest } from "../../../../src/canon/unary.ts";
import type { DialectName } from "../../../../src/dialects/table.ts";
import { embeddingsSurface } from "../../../../src/dialects/openai-chat/embeddings-surface.ts";
import { NO_EDITS, NO_HEADERS } from "../../../support/dialects.ts";
import type { UnaryCall } from "../../../../src/dialects/unary/surface.ts";
import { asking, embedderOf, targetFor, type TargetOptions } from "./target.ts";

const ONE: Partial<EmbedRequest> = { inputs: ["one"], isScalar: true };
const TOKENS: Partial<EmbedRequest> = { inputs: [[1, 2], [3]] };

const flagged = (...flags: readonly string[]): TargetOptions => ({ provider: { flags } });
const invoked: TargetOptions = { ...flagged("bedrock_invoke"), upstreamModel: "cohere.embed-v4:0" };
const predicted: TargetOptions = flagged("predict_embeddings");
const single: TargetOptions = flagged("embed_content");
const texts = ["one", "two"];

type Row = readonly [
  what: string,
  dialect: DialectName,
  request: Partial<EmbedRequest>,
  options: TargetOptions,
  body: JsonObject,
];

const BODIES: readonly Row[] = [
  ["texts", "openai-chat", {}, {}, { model: "embedder", input: texts }],
  ["one text without a list", "openai-chat", ONE, {}, { model: "embedder", input: "one" }],
  [
    "one text in a list",
    "openai-chat",
    { inputs: ["one"] },
    {},
    { model: "embedder", input: ["one"] },
  ],
  ["tokens", "openai-chat", TOKENS, {}, { model: "embedder", input: [[1, 2], [3]] }],
  [
    "tokens without a list",
    "openai-chat",
    { inputs: [[1, 2]], isScalar: true },
    {},
    { model: "embedder", input: [1, 2] },
  ],
  [
    "a length",
    "openai-chat",
    { dimensions: 256 },
    {},
    { model: "embedder", input: texts, dimensions: 256 },
  ],
  [
    "a length as another member",
    "openai-chat",
    { dimensions: 256 },
    flagged("output_dimension_field"),
    { model: "embedder", input: texts, output_dimension: 256 },
  ],
  [
    "base64",
    "openai-chat",
    { encoding: "base64" },
    {},
    { model: "embedder", input: texts, encoding_format: "base64" },
  ],
  [
    "numbers",
    "openai-chat",
    { encoding: "float" },
    {},
    { model: "embedder", input: texts, encoding_format: "float" },
  ],
  [
    "no encoding",
    "openai-chat",
    { encoding: "base64" },
    flagged("no_encoding_format"),
    { model: "embedder", input: texts },
  ],
  [
    "no encoding for bytes",
    "openai-chat",
    { encoding: "float" },
    flagged("int8_vectors"),
    { model: "embedder", input: texts },
  ],
  [
    "numbers for base64",
    "openai-chat",
    { encoding: "base64" },
    flagged("float_vectors"),
    { model: "embedder", input: texts, encoding_format: "float" },
  ],
  [
    "a purpose",
    "openai-chat",
    { purpose: "query" },
    flagged("input_type_field"),
    { model: "embedder", input: texts, input_type: "query" },
  ],
  [
    "a purpose as a task",
    "openai-chat",
    { purpose: "clustering" },
    flagged("task_field"),
    { model: "embedder", input: texts, task: "separation" },
  ],
  [
    "unknown members, which never win over ours",
    "openai-chat",
    { extras: { late_chunking: true, model: "other" } },
    {},
    { late_chunking: true, model: "embedder", input: texts },
  ],
  [
    "texts without a purpose",
    "cohere-chat",
    {},
    {},
    {
      model: "embedder",
      texts,
      input_type: "search_document",
      embedding_types: ["float"],
      truncate: "NONE",
    },
  ],
  [
    "everything",
    "cohere-chat",
    { ...ONE, purpose: "query", dimensions: 512, mayTruncate: true, encoding: "base64" },
    {},
    {
      model: "embedder",
      texts: ["one"],
      input_type: "search_query",
      embedding_types: ["float"],
      truncate: "END",
      output_dimension: 512,
    },
  ],
  [
    "everything without the model",
    "cohere-chat",
    { purpose: "clustering", dimensions: 512 },
    invoked,
    {
      texts,
      input_type: "clustering",
      embedding_types: ["float"],
      truncate: "NONE",
      output_dimension: 512,
    },
  ],
  [
    "a request for each text",
    "gemini",
    {},
    {},
    {
      requests: [
        { model: "models/embedder", content: { parts: [{ text: "one" }] } },
        { model: "models/embedder", content: { parts: [{ text: "two" }] } },
      ],
    },
  ],
  [
    "everything",
    "gemini",
    { ...ONE, purpose: "classification", dimensions: 768 },
    { upstreamModel: "tunedModels/x" },
    {
      requests: [
        {
          model: "tunedModels/x",
          content: { parts: [{ text: "one" }] },
          taskType: "CLASSIFICATION",
          outputDimensionality: 768,
        },
      ],
    },
  ],
  [
    "instances",
    "gemini",
    {},
    predicted,
    { instances: [{ content: "one" }, { content: "two" }], parameters: { autoTruncate: false } },
  ],
  [
    "instances with everything",
    "gemini",
    { ...ONE, purpose: "query", dimensions: 768, mayTruncate: true },
    predicted,
    {
      instances: [{ content: "one", task_type: "RETRIEVAL_QUERY" }],
      parameters: { autoTruncate: true, outputDimensionality: 768 },
    },
  ],
  [
    "one content",
    "gemini",
    ONE,
    single,
    { content: { parts: [{ text: "one" }] }, embedContentConfig: { autoTruncate: false } },
  ],
  [
    "one content with everything",
    "gemini",
    { ...ONE, purpose: "query", dimensions: 768, mayTruncate: true },
    single,
    {
      content: { parts: [{ text: "one" }] },
      embedContentConfig: {
        autoTruncate: true,
        taskType: "RETRIEVAL_QUERY",
        outputDimensionality: 768,
      },
    },
  ],
  ["texts", "voyage", {}, {}, { model: "embedder", input: texts, truncation: false }],
  [
    "everything",
    "voyage",
    { ...ONE, purpose: "document", dimensions: 512, mayTruncate: true, encoding: "base64" },
    {},
    {
      model: "embedder",
      input: "one",
      input_type: "document",
      truncation: true,
      output_dimension: 512,
      encoding_format: "base64",
    },
  ],
  [
    "numbers, for which there is no value",
    "voyage",
    { encoding: "float" },
    {},
    { model: "embedder", input: texts, truncation: false },
  ],
  ["a text", "bedrock-titan-embed", ONE, {}, { inputText: "one" }],
  [
    "a text and a length",
    "bedrock-titan-embed",
    { ...ONE, dimensions: 256 },
    {},
    { inputText: "one", dimensions: 256 },
  ],
  [
    "a text without a purpose",
    "bedrock-nova-embed",
    ONE,
    {},
    {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: "GENERIC_INDEX",
        text: { value: "one", truncationMode: "NONE" },
      },
    },
  ],
  [
    "everything",
    "bedrock-nova-embed",
    { ...ONE, purpose: "query", dimensions: 256, mayTruncate: true },
    {},
    {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: "GENERIC_RETRIEVAL",
        embeddingDimension: 256,
        text: { value: "one", truncationMode: "END" },
      },
    },
  ],
];

function formatted(dialect: DialectName, request: Partial<EmbedRequest>, options: TargetOptions) {
  return embedderOf(dialect).format(asking(request), targetFor(dialect, options));
}

describe("requests for embeddings", () => {
  it.each(BODIES)("contain %s (%s)", (_what, dialect, request, options, body) => {
    const printed = formatted(dialect, request, options);
    if ("code" in printed) throw new Error(printed.message);
    expect(JSON.parse(JSON.stringify(printed.body))).toEqual(body);
    const isDefaulted =
      ["cohere-chat", "bedrock-nova-embed"].includes(dialect) && (request.purpose ?? null) === null;
    expect(printed.dropped).toEqual(isDefaulted ? ["input_purpose_defaulted"] : []);
  });

  it.each<[DialectName, TargetOptions]>([
    ["openai-chat", {}],
    ["gemini", {}],
    ["bedrock-titan-embed", {}],
  ])(
    "of %s have no member for truncation, and the caller's wish is recorded",
    (dialect, options) => {
      const unsaid = formatted(dialect, ONE, options);
      if ("code" in unsaid) throw new Error(unsaid.message);
      expect(unsaid.dropped).toEqual([]);
      for (const mayTruncate of [true, false]) {
        expect(formatted(dialect, { ...ONE, mayTruncate }, options)).toEqual({
          ...unsaid,
          dropped: ["truncation_unspoken"],
        });
      }
    },
  );

  it.each<[DialectName, TargetOptions]>([
    ["cohere-chat", {}],
    ["cohere-chat", invoked],
    ["gemini", predicted],
    ["gemini", single],
    ["voyage", {}],
    ["bedrock-nova-embed", {}],
  ])(
    "of %s forbid truncation where the caller does not choose, as where the caller forbids it",
    (dialect, options) => {
      const requested = { ...ONE, purpose: "query" } as const;
      const unsaid = formatted(dialect, requested, options);
      expect(unsaid).toMatchObject({ dropped: [] });
      expect(formatted(dialect, { ...requested, mayTruncate: false }, options)).toEqual(unsaid);
      expect(formatted(dialect, { ...requested, mayTruncate: true }, options)).not.toEqual(unsaid);
    },
  );

  it.each<[DialectName, TargetOptions, string]>([
    ["openai-chat", {}, "/embeddings"],
    [
      "openai-chat",
      { provider: { apiVersion: "2024-10-21" } },
      "/embeddings?api-version=2024-10-21",
    ],
    [
      "openai-chat",
      {
        upstreamModel: "my dep/1",
        provider: { flags: ["deployment_paths"], apiVersion: "2024-10-21" },
      },
      "/deployments/my%20dep%2F1/embeddings?api-version=2024-10-21",
    ],
    ["cohere-chat", {}, "/v2/embed"],
    ["cohere-chat", invoked, "/model/cohere.embed-v4%3A0/invoke"],
    ["gemini", {}, "/models/embedder:batchEmbedContents"],
    ["gemini", { upstreamModel: "tunedModels/x y" }, "/tunedModels/x%20y:batchEmbedContents"],
    ["gemini", predicted, "/models/embedder:predict"],
    ["gemini", single, "/models/embedder:embedContent"],
    ["voyage", {}, "/embeddings"],
    [
      "bedrock-titan-embed",
      { upstreamModel: "amazon.titan-embed-text-v2:0" },
      "/model/amazon.titan-embed-text-v2%3A0/invoke",
    ],
    ["bedrock-nova-embed", { upstreamModel: "arn:aws:x/y" }, "/model/arn%3Aaws%3Ax%2Fy/invoke"],
  ])("of %s with %j are sent to %s", (dialect, options, path) => {
    const printed = formatted(dialect, ONE, options);
    expect("code" in printed ? printed.message : printed.path).toBe(path);
  });

  it.each<[DialectName, TargetOptions]>([
    ["openai-chat", flagged("no_token_inputs")],
    ["cohere-chat", {}],
    ["cohere-chat", invoked],
    ["gemini", {}],
    ["gemini", predicted],
    ["voyage", {}],
    ["bedrock-titan-embed", {}],
    ["bedrock-nova-embed", {}],
  ])("with tokens are refused by name at %s where it accepts text only", (dialect, options) => {
    for (const inputs of [[[1, 2]], ["text", [3]]]) {
      const refused = formatted(dialect, { inputs }, options);
      expect(refused).toMatchObject({ status: 400, code: "feature_not_supported", param: "input" });
    }
  });

  it.each<[DialectName, TargetOptions, EmbedRequest["purpose"], string]>([
    ["openai-chat", {}, "query", "must be left out"],
    ["openai-chat", flagged("input_type_field"), "clustering", "must be document or query"],
    ["voyage", {}, "classification", "must be document or query"],
    ["bedrock-titan-embed", {}, "document", "must be left out"],
  ])(
    "of %s with a purpose that it has no value for are refused by name",
    (dialect, options, purpose, rule) => {
      const refused = formatted(dialect, { ...ONE, purpose }, options);
      expect(refused).toMatchObject({
        status: 400,
        code: "feature_not_supported",
        param: "input_type",
      });
      expect("message" in refused && refused.message).toContain(rule);
    },
  );

  it.each<DialectName>(["bedrock-titan-embed", "bedrock-nova-embed"])(
    "of several texts are refused in one call by %s",
    (dialect) => {
      expect(formatted(dialect, {}, {})).toMatchObject({
        status: 400,
        code: "feature_not_supported",
        param: "input",
      });
    },
  );

  it("keep the caller's choice about truncation, none included", () => {
    const sentTo = (dialect: DialectName, more: object): UnaryCall => {
      const request = embeddingsSurface.parse({ model: "r", input: "a", ...more }, 99, NO_HEADERS);
      if ("code" in request) throw new Error(request.message);
      const target = targetFor(dialect);
      const task = embeddingsSurface.open(request, {
        unknownFields: "reject",
        edits: NO_EDITS,
        targets: [target],
        maxBatchSize: null,
      });
      const call = "code" in task ? undefined : task.parts[0]?.callTo(target);
      if (call === undefined) throw new Error("no call");
      return call;
    };
    const permission = (more: object): unknown => [
      sentTo("openai-chat", more).dropped,
      JSON.parse(sentTo("cohere-chat", more).body).truncate,
    ];
    expect(
      [{}, { truncation: null }, { truncation: false }, { truncation: true }].map(permission),
    ).toEqual([
      [[], "NONE"],
      [[], "NONE"],
      [["truncation_unspoken"], "NONE"],
      [["truncation_unspoken"], "END"],
    ]);
  });
});
