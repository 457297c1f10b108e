import type { HostedRequest, OutgoingRequest, Target } from "../dialect.ts";
import { BETA_HEADER } from "../../canon/request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { readConverseError } from "../bedrock-converse/read-error.ts";
import { parseAnswerBytes } from "../json.ts";
import { COUNT_PATH } from "./fields.ts";
import { textToBase64 } from "../../canon/json/text-base64.ts";
import { InvokeStream, plainAnswer } from "./invoke-stream.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { readGeminiError } from "../gemini/read-error.ts";
import { readMessagesError } from "./ending.ts";

/**
 * The wrappings that providers may require by a flag; the compiler lets a provider have one of them
 * at most.
 */
const HOSTS: ReadonlyMap<
  string,
  (request: OutgoingRequest, upstreamModel: string) => HostedRequest
> = new Map([
  ["bedrock_invoke", hostOnBedrock],
  ["vertex_raw_predict", hostOnVertex],
]);

/**
 * Wraps a finished messages or count_tokens request for the cloud that serves the provider's
 * models; `null` where none does.
 */
export function hostMessages(
  request: OutgoingRequest,
  { endpoint, provider }: Target,
): HostedRequest | null {
  for (const flag of provider.flags) {
    const host = HOSTS.get(flag);
    if (host !== undefined) return host(request, endpoint.upstreamModel);
  }
  return null;
}

const BEDROCK_VERSION = "bedrock-2023-05-31";
const STREAM_TYPE = "application/vnd.amazon.eventstream";

/**
 * Amazon Bedrock's InvokeModel: the model and whether the answer streams are said by the path,
 * version and betas by members of the body; streams are binary frames. Counting is an operation of
 * its own around the same body.
 */
function hostOnBedrock(request: OutgoingRequest, upstreamModel: string): HostedRequest {
  const counts = request.path === COUNT_PATH;
  const { body, stripped } = hostedBody(request.body, BEDROCK_VERSION, ["model", "stream"]);
  const betas = headerIn(request.headers, BETA_HEADER);
  if (betas !== null) body["anthropic_beta"] = betas.split(",");
  const streams = request.body["stream"] === true;
  const operation = counts ? "count-tokens" : streams ? "invoke-with-response-stream" : "invoke";
  return {
    // Slashes of a model's ARN and colons of its version are data here.
    path: `/model/${encodeURIComponent(upstreamModel)}/${operation}`,
    body: counts ? countedBody(body) : body,
    headers: [],
    stripped,
    streamType: STREAM_TYPE,
    unwrapStream: (stream) => new InvokeStream(stream),
    unwrapAnswer: counts ? plainCount : plainAnswer,
    readError: readConverseError,
  };
}

/**
 * The cloud counts the tokens of a whole request and refuses one without an output limit, which
 * counts of the protocol do not have. A limit has no tokens of its own; it must only be above the
 * budget for thinking.
 */
function countedBody(body: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const { thinking } = body;
  const budget = isJsonObject(thinking) ? thinking["budget_tokens"] : null;
  const limit = typeof budget === "number" ? budget + 1 : 1;
  return {
    input: { invokeModel: { body: textToBase64(JSON.stringify({ ...body, max_tokens: limit })) } },
  };
}

const encoder = new TextEncoder();

/**
 * A count in the protocol's members; what is no count is left for the protocol's reader to refuse.
 */
function plainCount(bytes: Uint8Array): Uint8Array {
  const answer = parseAnswerBytes(bytes);
  const count = isJsonObject(answer) ? answer["inputTokens"] : undefined;
  return typeof count === "number"
    ? encoder.encode(JSON.stringify({ input_tokens: count }))
    : bytes;
}

const VERTEX_VERSION = "vertex-2023-10-16";

/** Counting has a path of its own instead of a model's name; the model is then a member. */
const COUNT_MODEL = "count-tokens";

/**
 * Google Vertex AI, whose base URL ends with the publisher (`…/publishers/anthropic`): the model
 * stands in the path and the version in the body. Answers, streams and the header for betas are the
 * protocol's own.
 */
function hostOnVertex(request: OutgoingRequest, upstreamModel: string): HostedRequest {
  const counts = request.path === COUNT_PATH;
  const { body, stripped } = hostedBody(request.body, VERTEX_VERSION, counts ? [] : ["model"]);
  const method = body["stream"] === true ? "streamRawPredict" : "rawPredict";
  // Versions of models stand after an @, which Google's own clients write as it is.
  const model = encodeURIComponent(upstreamModel).replaceAll("%40", "@");
  const betas = headerIn(request.headers, BETA_HEADER);
  return {
    path: `/models/${counts ? COUNT_MODEL : model}:${method}`,
    body,
    headers: betas === null ? [] : [BETA_HEADER, betas],
    stripped,
    streamType: "text/event-stream",
    unwrapStream: (stream) => stream,
    unwrapAnswer: (bytes) => bytes,
    readError: readVertexError,
  };
}

/**
 * Errors of the model's server have the protocol's shape, those of the cloud before it Google's.
 */
function readVertexError(status: number, bytes: Uint8Array): UpstreamFailure {
  const failure = readMessagesError(status, bytes);
  return failure.code === null ? readGeminiError(status, bytes) : failure;
}

/** Hints that only the protocol's own provider takes; clouds refuse requests that have them. */
const DIRECT_HINTS: ReadonlySet<string> = new Set(["service_tier", "speed", "diagnostics"]);

/**
 * Members that are the router's to set. A route that forwards unknown members would else let
 * callers turn on beta features that the provider's row does not list.
 */
const OURS: ReadonlySet<string> = new Set(["anthropic_version", "anthropic_beta"]);

/** A body for a cloud, and the registered names of what was taken out of it. */
interface HostedBody {
  readonly body: Record<string, JsonValue | undefined>;
  readonly stripped: readonly string[];
}

/**
 * The members of a request that a cloud takes, with the cloud's name of the version.
 *
 * @param elsewhere members that the cloud reads somewhere else, such as in the path.
 */
function hostedBody(body: JsonObject, version: string, elsewhere: readonly string[]): HostedBody {
  // Without a prototype: a member that is called `__proto__` must travel as a member, not become
  // one.
  const kept: Record<string, JsonValue | undefined> = Object.create(null);
  const stripped: string[] = [];
  for (const name in body) {
    if (DIRECT_HINTS.has(name)) stripped.push(name);
    else if (OURS.has(name)) stripped.push("unknown_field");
    else if (!elsewhere.includes(name)) kept[name] = body[name];
  }
  kept["anthropic_version"] = version;
  return { body: kept, stripped };
}

/** The value of a header in a list of names and values by turns; `null` where it is absent. */
function headerIn(headers: readonly string[], name: string): string | null {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) return headers[index + 1] ?? null;
  }
  return null;
}
