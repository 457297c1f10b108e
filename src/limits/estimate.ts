import type { Capability } from "../canon/capability.ts";
import type { RequestEdits } from "../canon/decision.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../canon/json.ts";
import type { Operation } from "../canon/operation.ts";
import type { EndpointRow, ModelRow, Price } from "../canon/table.ts";
import type { Amounts } from "./meters.ts";
import { largestOutput } from "../canon/largest-output.ts";

/** What the most that a request may use is made from. */
export interface EstimatedRequest {
  readonly operation: Operation;
  /** In the caller's protocol. */
  readonly body: JsonObject;
  /** Size of the body as it arrived. */
  readonly bytes: number;
  readonly needs: readonly Capability[];
  readonly edits: RequestEdits;
  /** Calls that the request is cut into; at least 1. Each counts as a request: a batch in forty parts is forty calls to a provider. */
  readonly calls: number;
}

export interface EstimatedPlace {
  readonly endpoint: EndpointRow;
  readonly model: ModelRow | undefined;
}

export interface Estimate {
  /** What is reserved: never less than the request uses, as far as the request and the table tell. */
  readonly amounts: Amounts;
  /** Tokens of `amounts`; the largest over all places. */
  readonly input: number;
  readonly output: number;
  /** Tokens of the input as they are likely to be counted, at most `input`. Computed when it is asked for. */
  readonly likelyInput: () => number;
  /** More tokens than a provider may be believed to have counted. */
  readonly most: number;
  /** Counts requests and nothing else: nothing is generated or read by a model. */
  readonly requestsOnly: boolean;
}

/** Tokens of a picture, more than the protocols' tables say for the largest ones. */
const PICTURE = 16_384;

/** Tokens of a document, recording or film that the body only names. */
const DOCUMENT = 131_072;

/** Tokens that providers add of their own: frames of messages, and instructions for tools. */
const FRAME = 64;
const TOOL_FRAME = 1_024;

/** How many times the window and the output of a model a provider is believed to have counted: its own tools may read and write again and again. */
const BELIEVED = 16;

/** Bounds of what is believed, tokens: sums of such counts and their prices are far below 2^53. */
const LEAST_MOST = 2 ** 20;
const LARGEST_MOST = 2 ** 40;

const NOTHING_READ = { requests: 1, tokens: 0, microUsd: 0 };

/**
 * The most that a request may use, wherever it goes: never too little as far as the request and the table tell. A token is at least one byte of
 * the body; of what has no bytes there (pictures by address, documents) an allowance is added. Where there is a context window, no more than that can be read for one prompt.
 */
export function estimateRequest(request: EstimatedRequest, places: readonly EstimatedPlace[]): Estimate {
  if (request.operation === "messages.count_tokens") {
    return { amounts: NOTHING_READ, input: 0, output: 0, likelyInput: () => 0, most: 0, requestsOnly: true };
  }
  const generates = OUTPUTS.has(request.operation);
  const bound = inputBound(request);
  const asked = generates ? askedOutput(request) : 0;
  const prompts = promptsOf(request);
  const choices = generates ? prompts * choicesOf(request.body) : 0;
  let tokens = 0;
  let microUsd = 0;
  let [input, output, most] = [0, 0, LEAST_MOST];
  for (const { endpoint, model } of places) {
    const read = generates ? Math.min(bound, prompts * (model?.contextWindow ?? bound)) : bound;
    const made = choices * Math.min(asked ?? Number.MAX_SAFE_INTEGER, largestOutput(model));
    tokens = Math.max(tokens, read + made);
    microUsd = Math.max(microUsd, costOf(endpoint.price, read, made, request.calls));
    input = Math.max(input, read);
    output = Math.max(output, made);
    most = Math.max(most, BELIEVED * (Math.max(read, prompts * (model?.contextWindow ?? 0)) + made));
  }
  most = Math.min(most, LARGEST_MOST);
  const amounts = { requests: request.calls, tokens, microUsd };
  return { amounts, input, output, likelyInput: () => likelyTokens(request, input), most, requestsOnly: false };
}

/** Millionths of a US dollar, rounded up; nothing for an endpoint without a price. */
export function costOf(price: Price | null, input: number, output: number, calls: number): number {
  if (price === null) return 0;
  // Dollars per million tokens are millionths of a dollar per token.
  const exact = input * price.input + output * price.output + calls * price.request * 1_000_000;
  return Math.ceil(Number(exact.toFixed(6)));
}

const OUTPUTS: ReadonlySet<Operation> = new Set(["chat.completions", "completions", "responses", "messages"]);

function inputBound({ operation, body, bytes, needs }: EstimatedRequest): number {
  const frame = FRAME + (body["tools"] === undefined ? 0 : TOOL_FRAME);
  const media = needs.some((capability) => MEDIA.has(capability)) ? mediaAllowance(body, 0) : 0;
  return bytes + frame + media + repeatedQuery(operation, body);
}

/** ASCII characters for one token. Texts of other scripts have about one token a character. */
const ASCII_PER_TOKEN = 4;

/** @param atMost tokens. */
function likelyTokens({ operation, body, needs }: EstimatedRequest, atMost: number): number {
  let media = 0;
  const text = JSON.stringify(body, (_name, value: JsonValue) => {
    const allowance = isJsonObject(value) ? allowanceOf(value["type"]) : 0;
    if (allowance === 0) return value;
    media += allowance;
    return null;
  });
  let ascii = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) < 128) ascii += 1;
  const repeated = Math.ceil(repeatedQuery(operation, body) / ASCII_PER_TOKEN);
  const read = Math.ceil(ascii / ASCII_PER_TOKEN) + (text.length - ascii) + repeated;
  return Math.min(atMost, read + (needs.some((capability) => MEDIA.has(capability)) ? media : 0));
}

/** Reranking reads the query once with every document. */
function repeatedQuery(operation: Operation, { query, documents }: JsonObject): number {
  if (operation !== "rerank" || typeof query !== "string" || !Array.isArray(documents)) return 0;
  return Buffer.byteLength(query) * documents.length;
}

/** Types of parts, over all protocols of products, whose tokens their bytes do not tell. */
const PICTURES: ReadonlySet<string> = new Set(["image", "image_url", "input_image"]);
const DOCUMENTS: ReadonlySet<string> = new Set([
  "document",
  "file",
  "input_file",
  "input_audio",
  "audio",
  "video",
  "video_url",
]);

const MEDIA: ReadonlySet<Capability> = new Set(["image_input", "audio_input", "video_input", "file_input"]);

const DEEPEST = 12;

function mediaAllowance(value: JsonValue | undefined, depth: number): number {
  if (depth > DEEPEST) return 0;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const item of value) sum += mediaAllowance(item, depth + 1);
  } else if (isJsonObject(value)) {
    sum += allowanceOf(value["type"]);
    for (const name in value) sum += mediaAllowance(value[name], depth + 1);
  }
  return sum;
}

function allowanceOf(type: JsonValue | undefined): number {
  if (typeof type !== "string") return 0;
  if (PICTURES.has(type)) return PICTURE;
  return DOCUMENTS.has(type) ? DOCUMENT : 0;
}

/** The most that the request asks for, in whatever member its protocol has; `null` where it does not say. */
function askedOutput({ body, edits }: EstimatedRequest): number | null {
  let asked = Number.NEGATIVE_INFINITY;
  for (const name of ["max_completion_tokens", "max_tokens", "max_output_tokens"]) {
    const value = body[name];
    if (typeof value === "number" && Number.isFinite(value)) asked = Math.max(asked, Math.ceil(value));
  }
  const own = asked > 0 ? asked : null;
  if (edits.maxOutputTokens === null) return own;
  return own === null ? edits.maxOutputTokens : Math.min(own, edits.maxOutputTokens);
}

/** Each prompt of a list is read and answered by itself; a list of numbers is one prompt, of tokens. */
function promptsOf({ operation, body: { prompt } }: EstimatedRequest): number {
  if (operation !== "completions" || !Array.isArray(prompt)) return 1;
  return prompt.every((token) => typeof token === "number") ? 1 : prompt.length;
}

/** Answers to one prompt. */
function choicesOf({ n, best_of: bestOf }: JsonObject): number {
  const many = [n, bestOf].map((value) => (typeof value === "number" && Number.isFinite(value) ? Math.ceil(value) : 1));
  return Math.max(1, ...many);
}
