import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonValue } from "../../src/canon/json.ts";
import type { EmbedPurpose, EmbedRequest, Vector } from "../../src/canon/unary.ts";
import type { DialectName } from "../../src/dialects/table.ts";
import { asBase64Text, asFloatText } from "../../src/dialects/unary/vectors.ts";
import {
  asking,
  embedderOf,
  inPieces,
  targetFor,
  wire,
  type TargetOptions,
} from "../dialects/unary/embed/target.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";

const FILES = ["embeddings", "cohere-embed", "gemini-embed", "bedrock-invoke"] as const;
const recordings = FILES.flatMap((file) => readRecordings(file) ?? []).filter(
  (recording) => pathOf(recording).includes("mbed") || pathOf(recording).endsWith(":predict"),
);

function memberOf(value: unknown, ...path: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of path) found = isJsonObject(found) ? found[name] : undefined;
  return found;
}

function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const list: unknown = memberOf(value, ...path);
  return Array.isArray(list) ? list : [];
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const text = memberOf(value, ...path);
  return typeof text === "string" ? text : "";
}

function pathOf({ request }: Recording): string {
  return textAt(request, "path");
}

/** What an exchange says in canon, where it goes, and where its answer's vectors stand. */
interface Exchange {
  readonly dialect: DialectName;
  readonly options: TargetOptions;
  readonly request: EmbedRequest;
  /** Path after the provider's base URL. */
  readonly path: string;
  readonly vectors: readonly unknown[];
  readonly inputTokens: unknown;
}

/** Why an exchange is none that we have: our requests or answers cannot express it. */
type Refusal = string;

function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function texts(list: readonly unknown[]): readonly string[] {
  return list.filter((item) => typeof item === "string");
}

function read(recording: Recording): Exchange | Refusal {
  const path = pathOf(recording);
  if (path.startsWith("/api/embed")) return "Ollama's own protocol";
  if (path.endsWith("/v1/embed") || path.endsWith("/v2/embed"))
    return readCohere(recording, {}, "/v2/embed");
  if (path.endsWith("/invoke")) return readInvoked(recording);
  if (path.includes(":")) return readGemini(recording);
  return readOpenAi(recording);
}

/** What each provider's row would have. */
const FLAGS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/perplexity/, ["int8_vectors"]],
  [/mistral/, ["output_dimension_field"]],
  [/^localhost/, ["float_vectors"]],
];

function readOpenAi(recording: Recording): Exchange {
  const { request: sent, response, host } = recording;
  const body = sent?.body;
  const input = memberOf(body, "input");
  const deployment = /\/deployments\/([^/]+)(\/.*)$/.exec(pathOf(recording));
  const apiVersion = /api-version=([^&]+)/.exec(pathOf(recording))?.[1] ?? null;
  const isVoyage = host.includes("voyage");
  const flags = FLAGS.find(([pattern]) => pattern.test(host))?.[1] ?? [];
  const dimensions = number(memberOf(body, isVoyage ? "output_dimension" : "dimensions"));
  const encoding = textAt(body, "encoding_format");
  const truncation = memberOf(body, "truncation");
  return {
    dialect: isVoyage ? "voyage" : "openai-chat",
    options: {
      upstreamModel: deployment?.[1] ?? textAt(body, "model"),
      provider: {
        flags: [...flags, ...(deployment === null ? [] : ["deployment_paths"])],
        apiVersion,
      },
    },
    request: asking({
      inputs: typeof input === "string" ? [input] : texts(listAt(body, "input")),
      isScalar: typeof input === "string",
      dimensions,
      encoding: encoding === "base64" || encoding === "float" ? encoding : null,
      purpose: purposeOf(textAt(body, "input_type")),
      mayTruncate: typeof truncation === "boolean" ? truncation : null,
    }),
    path: deployment === null ? "/embeddings" : `/deployments/${deployment[1]}${deployment[2]}`,
    vectors: listAt(response.body, "data").map((item) => memberOf(item, "embedding")),
    inputTokens: memberOf(response.body, "usage", isVoyage ? "total_tokens" : "prompt_tokens"),
  };
}

const PURPOSES: Readonly<Record<string, EmbedPurpose>> = {
  document: "document",
  search_document: "document",
  RETRIEVAL_DOCUMENT: "document",
  GENERIC_INDEX: "document",
  query: "query",
  search_query: "query",
  RETRIEVAL_QUERY: "query",
  GENERIC_RETRIEVAL: "query",
  classification: "classification",
  clustering: "clustering",
};

function purposeOf(value: string): EmbedPurpose | null {
  return PURPOSES[value] ?? null;
}

function readCohere(
  { request: sent, response }: Recording,
  options: TargetOptions,
  path: string,
): Exchange | Refusal {
  const body = sent?.body;
  if (memberOf(body, "truncate") === "START")
    return "cut from the start, which no caller can request";
  if (typeof memberOf(body, "max_tokens") === "number")
    return "a limit of tokens, which no caller can request";
  const kinds = texts(listAt(body, "embedding_types"));
  if (kinds.some((kind) => kind !== "float")) return "numbers of another kind than we request";
  const model = textAt(body, "model");
  return {
    dialect: "cohere-chat",
    options: model === "" ? options : { ...options, upstreamModel: model },
    request: asking({
      inputs: texts(listAt(body, "texts")),
      dimensions: number(memberOf(body, "output_dimension")),
      purpose: purposeOf(textAt(body, "input_type")),
      mayTruncate: memberOf(body, "truncate") === "END",
    }),
    path,
    vectors: listAt(response.body, "embeddings", "float").concat(
      listAt(response.body, "embeddings"),
    ),
    inputTokens: memberOf(response.body, "meta", "billed_units", "input_tokens"),
  };
}

function readInvoked(recording: Recording): Exchange | Refusal {
  const { request: sent, response } = recording;
  const body = sent?.body;
  const upstreamModel = decodeURIComponent(
    /\/model\/([^/]+)\/invoke/.exec(pathOf(recording))?.[1] ?? "",
  );
  const path = `/model/${encodeURIComponent(upstreamModel)}/invoke`;
  const options = { upstreamModel, provider: { flags: ["bedrock_invoke"] } };
  if (memberOf(body, "texts") !== undefined) return readCohere(recording, options, path);
  if (memberOf(body, "inputText") !== undefined) {
    if (memberOf(body, "normalize") === false)
      return "vectors of other lengths than one, which no caller can request";
    return {
      dialect: "bedrock-titan-embed",
      options: { upstreamModel },
      request: asking({
        inputs: [textAt(body, "inputText")],
        dimensions: number(memberOf(body, "dimensions")),
      }),
      path,
      vectors: [memberOf(response.body, "embedding")],
      inputTokens: memberOf(response.body, "inputTextTokenCount"),
    };
  }
  const parameters = memberOf(body, "singleEmbeddingParams");
  if (memberOf(parameters, "text", "value") === undefined) return "inputs that are no text";
  const mode = memberOf(parameters, "text", "truncationMode");
  if (mode === "START") return "cut from the start, which no caller can request";
  const purpose = purposeOf(textAt(parameters, "embeddingPurpose"));
  if (purpose === null) return "a purpose that no caller can request";
  return {
    dialect: "bedrock-nova-embed",
    options: { upstreamModel },
    request: asking({
      inputs: [textAt(parameters, "text", "value")],
      dimensions: number(memberOf(parameters, "embeddingDimension")),
      purpose,
      mayTruncate: mode === "END",
    }),
    path,
    vectors: listAt(response.body, "embeddings").map((item) => memberOf(item, "embedding")),
    inputTokens: undefined,
  };
}

function readGemini(recording: Recording): Exchange | Refusal {
  const { request: sent, response } = recording;
  const body = sent?.body;
  const [, model = "", method = ""] = /\/models\/([^/:]+):(\w+)$/.exec(pathOf(recording)) ?? [];
  const path = `/models/${model}:${method}`;
  if (method === "embedContent") {
    return {
      dialect: "gemini",
      options: { upstreamModel: model, provider: { flags: ["embed_content"] } },
      request: asking({
        inputs: texts(listAt(body, "content", "parts").map((part) => memberOf(part, "text"))),
      }),
      path,
      vectors: [memberOf(response.body, "embedding", "values")],
      inputTokens: memberOf(response.body, "usageMetadata", "promptTokenCount"),
    };
  }
  if (method === "predict") {
    const [instance] = listAt(body, "instances");
    const predictions = listAt(response.body, "predictions").map((item) =>
      memberOf(item, "embeddings"),
    );
    const counts = predictions.map((item) => Number(memberOf(item, "statistics", "token_count")));
    return {
      dialect: "gemini",
      options: { upstreamModel: model, provider: { flags: ["predict_embeddings"] } },
      request: asking({
        inputs: texts(listAt(body, "instances").map((item) => memberOf(item, "content"))),
        dimensions: number(memberOf(body, "parameters", "outputDimensionality")),
        purpose: purposeOf(textAt(instance, "task_type")),
      }),
      path,
      vectors: predictions.map((item) => memberOf(item, "values")),
      inputTokens: counts.reduce((sum, tokens) => sum + tokens, 0),
    };
  }
  const contents = listAt(body, "requests").map((item) => listAt(item, "content", "parts"));
  if (contents.flat().some((part) => typeof memberOf(part, "text") !== "string"))
    return "inputs that are no text";
  if (contents.some((parts) => parts.length !== 1)) return "one vector for several texts";
  const [first] = listAt(body, "requests");
  return {
    dialect: "gemini",
    options: { upstreamModel: model },
    request: asking({
      inputs: contents.flatMap((parts) => texts(parts.map((part) => memberOf(part, "text")))),
      dimensions: number(memberOf(first, "outputDimensionality")),
      purpose: purposeOf(textAt(first, "taskType")),
    }),
    path,
    vectors: listAt(response.body, "embeddings").map((item) => memberOf(item, "values")),
    inputTokens: memberOf(response.body, "usageMetadata", "promptTokenCount"),
  };
}

type Body = Record<string, unknown>;

/**
 * Every difference between what was recorded and what we send that we accept, and why. Each is
 * taken out of both; a reason that no exchange needs any longer is an error.
 */
const ACCEPTED: readonly (readonly [
  reason: string,
  apply: (recorded: Body, ours: Body) => boolean,
])[] = [
  ["null is absent", (recorded) => dropWhere(recorded, (value) => value === null)],
  [
    "Azure reads no model beside a deployment",
    (recorded, ours) => ours.model === "test-deployment" && same(recorded, ours, "model"),
  ],
  [
    "numbers are requested where base64 is of others than single-precision ones",
    (recorded, ours) =>
      recorded.encoding_format === "base64" &&
      ours.encoding_format === "float" &&
      same(recorded, ours, "encoding_format"),
  ],
  [
    "the kind of numbers is always said",
    (recorded, ours) =>
      recorded.embedding_types === undefined && dropMember(ours, "embedding_types"),
  ],
  [
    "whether to cut is always said",
    (recorded, ours) =>
      recorded.truncate === undefined && ours.truncate === "NONE" && dropMember(ours, "truncate"),
  ],
  [
    "whether to cut is always said (Vertex AI, one content)",
    (recorded, ours) => {
      const config = ours.embedContentConfig;
      if (!isJsonObject(config) || config.autoTruncate !== false || Object.keys(config).length > 1)
        return false;
      return recorded.embedContentConfig === undefined && dropMember(ours, "embedContentConfig");
    },
  ],
  [
    "whether to cut is always said (Vertex AI)",
    (recorded, ours) => {
      const { autoTruncate, ...rest } = isJsonObject(ours.parameters) ? ours.parameters : {};
      if (autoTruncate !== false) return false;
      delete ours.parameters;
      if (Object.keys(rest).length > 0) ours.parameters = rest;
      return memberOf(recorded, "parameters", "autoTruncate") === undefined;
    },
  ],
  [
    "vectors of length one are the default",
    (recorded, ours) =>
      recorded.normalize === true && !("normalize" in ours) && dropMember(recorded, "normalize"),
  ],
  [
    "the role of an input is the default",
    (recorded) => {
      const contents = listAt(recorded, "requests").map((item) => memberOf(item, "content"));
      return contents
        .map(
          (content) => isPlain(content) && content.role === "user" && dropMember(content, "role"),
        )
        .includes(true);
    },
  ],
];

function isPlain(value: unknown): value is Body {
  return isJsonObject(value);
}

function dropMember(body: Body, name: string): boolean {
  const had = name in body;
  delete body[name];
  return had;
}

function dropWhere(body: Body, isDropped: (value: unknown) => boolean): boolean {
  const names = Object.keys(body).filter((name) => isDropped(body[name]));
  for (const name of names) delete body[name];
  return names.length > 0;
}

function same(recorded: Body, ours: Body, name: string): boolean {
  recorded[name] = ours[name];
  return true;
}

interface Tally {
  passed: number;
  readonly refused: Map<string, number>;
}

function print(name: string, total: number, { passed, refused }: Tally): void {
  const sum = [...refused.values()].reduce((left, right) => left + right, 0);
  const reasons = [...refused].map(([reason, times]) => `\n  ${times} × ${reason}`).join("");
  process.stdout.write(
    `${name}: ${total} exchanges, ${passed} passed, ${sum} refused, ${total - passed - sum} failed${reasons}\n`,
  );
  expect(total - passed - sum).toBe(0);
}

function count(tally: Tally, reason: string): void {
  tally.refused.set(reason, (tally.refused.get(reason) ?? 0) + 1);
}

function numbersOf(recorded: unknown, options: TargetOptions): unknown {
  if (typeof recorded !== "string") return recorded;
  const bytes = Buffer.from(recorded, "base64");
  if (options.provider?.flags?.includes("int8_vectors") === true) {
    return Array.from(bytes, (byte) => (byte > 127 ? byte - 256 : byte));
  }
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

/** The vector is the recorded one, to the number, in both encodings. */
function checkVector(id: string, vector: Vector, recorded: unknown, options: TargetOptions): void {
  const numbers = numbersOf(recorded, options);
  const printed: readonly number[] = JSON.parse(asFloatText(vector).text);
  const singles = (list: unknown): readonly number[] =>
    Array.isArray(list) ? list.map((item) => Math.fround(Number(item))) : [];
  if (vector.encoding === "float") expect(printed, id).toEqual(numbers);
  else expect(vector.text, id).toBe(recorded);
  expect(singles(printed), id).toEqual(singles(numbers));
  expect(vector.dimension, id).toBe(printed.length);
  const packed = asBase64Text(vector);
  if (typeof packed === "string") throw new Error(`${id}: ${packed}`);
  expect(numbersOf(packed.text, {}), id).toEqual(singles(numbers));
}

describe.skipIf(recordings.length === 0)(
  "recorded embeddings (skipped where ../shared/recordings is absent)",
  () => {
    it("every request is printed as it was recorded", () => {
      const tally: Tally = { passed: 0, refused: new Map() };
      const needed = new Set<string>();
      for (const recording of recordings) {
        const { id } = recording;
        const exchange = read(recording);
        if (typeof exchange === "string") {
          count(tally, exchange);
          continue;
        }
        const formatted = embedderOf(exchange.dialect).format(
          exchange.request,
          targetFor(exchange.dialect, exchange.options),
        );
        if ("code" in formatted) throw new Error(`${id}: ${formatted.message}`);
        expect(formatted.path, id).toBe(exchange.path);
        const ours: Body = JSON.parse(JSON.stringify(formatted.body));
        const recorded: Body = structuredClone(
          isPlain(recording.request?.body) ? recording.request.body : {},
        );
        for (const [reason, apply] of ACCEPTED) if (apply(recorded, ours)) needed.add(reason);
        expect(ours, id).toEqual(recorded);
        expect(formatted.dropped, id).toEqual([]);
        tally.passed += 1;
      }
      print("embeddings, requests", recordings.length, tally);
      process.stdout.write(`  accepted: ${[...needed].join("; ")}\n`);
      expect([...needed].toSorted()).toEqual(ACCEPTED.map(([reason]) => reason).toSorted());
      expect(tally.passed).toBeGreaterThan(recordings.length * 0.8);
    });

    it("every answer is understood, vector by vector", () => {
      const tally: Tally = { passed: 0, refused: new Map() };
      let verbatim = 0;
      for (const recording of recordings) {
        const { id, status, response } = recording;
        const exchange = read(recording);
        if (typeof exchange === "string") {
          count(tally, exchange);
          continue;
        }
        const { dialect, options, request, vectors, inputTokens } = exchange;
        const bytes = wire(response.body);
        if (status !== null && status >= 400) {
          const kind = { 401: "auth", 404: "not_found" }[status];
          expect(embedderOf(dialect).readError(status, bytes), id).toMatchObject({ status, kind });
          tally.passed += 1;
          continue;
        }
        const result = embedderOf(dialect).parseAnswer(
          inPieces(bytes),
          request,
          targetFor(dialect, options),
        );
        if (options.provider?.flags?.includes("float_vectors") === true) {
          // The row's flag keeps such answers from coming; one that comes all the same must not be
          // misread.
          expect(result, id).toMatchObject({ kind: "malformed", code: "vector_malformed" });
          count(tally, "base64 of double-precision numbers");
          continue;
        }
        if ("kind" in result) throw new Error(`${id}: ${result.code}`);
        expect(result.vectors, id).toHaveLength(request.inputs.length);
        expect(vectors, id).toHaveLength(request.inputs.length);
        for (const [index, vector] of result.vectors.entries())
          checkVector(id, vector, vectors[index], options);
        expect(result.inputTokens, id).toBe(inputTokens ?? null);
        const isSame =
          typeof vectors[0] === "string"
            ? request.encoding === "base64"
            : request.encoding !== "base64";
        expect(result.isVerbatim, id).toBe(dialect === "openai-chat" && isSame);
        verbatim += result.isVerbatim ? 1 : 0;
        tally.passed += 1;
      }
      print(`embeddings, answers (${verbatim} go on as they came)`, recordings.length, tally);
      expect(tally.passed).toBeGreaterThan(recordings.length * 0.8);
    });

    it("an answer with one vector missing, doubled or moved is never taken for another", () => {
      let tries = 0;
      for (const recording of recordings) {
        const exchange = read(recording);
        if (typeof exchange === "string" || exchange.vectors.length < 2) continue;
        const { dialect, options, request } = exchange;
        const body: unknown = recording.response.body;
        const list = [["data"], ["embeddings", "float"], ["embeddings"], ["predictions"]]
          .map((path) => memberOf(body, ...path))
          .find((found) => Array.isArray(found));
        if (!Array.isArray(list)) throw new Error(recording.id);
        const items: readonly JsonValue[] = list;
        const parse = (changed: readonly JsonValue[]) => {
          const text = JSON.stringify(body).replace(JSON.stringify(items), () =>
            JSON.stringify(changed),
          );
          return embedderOf(dialect).parseAnswer(
            inPieces(wire(text)),
            request,
            targetFor(dialect, options),
          );
        };
        const right = parse(items);
        for (const changed of [items.slice(1), [...items, ...items.slice(0, 1)]]) {
          expect(parse(changed), recording.id).toMatchObject({
            kind: "malformed",
            code: "result_count",
          });
          tries += 1;
        }
        const turned = parse(items.toReversed());
        const isIndexed = dialect === "openai-chat" || dialect === "voyage";
        if (isIndexed) expect(turned, recording.id).toEqual({ ...right, isVerbatim: false });
      }
      expect(tries).toBeGreaterThan(20);
    });
  },
);
