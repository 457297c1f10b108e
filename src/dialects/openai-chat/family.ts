import { invalidRequest, type ErrorKind, type ServiceError } from "../../canon/error.ts";
import type { Hints } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT, complete } from "../../canon/json/schema.ts";
import type { HostedRequest, OutgoingRequest, Target, Upstream } from "../dialect.ts";
import { memberIn, numberOrNull, textOrNull } from "../json.ts";
import { storedState } from "../kinds.ts";
import {
  DENIAL,
  ERROR_MESSAGE,
  denialMembers,
  limitHeaders,
  type ProtocolFamily,
} from "../protocol-family.ts";
import type { RequestReading } from "../request-reading.ts";
import { formatSseEvent } from "../sse.ts";

/** The error in schemas of streams. */
export const OPENAI_ERROR = { $ref: "#/components/schemas/Error" } as const;

/** The `type` of the OpenAI family for each kind of error (docs/protocols.md#error-bodies). */
const OPENAI_TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  authentication: "authentication_error",
  insufficient_scope: "insufficient_scope",
  policy_denied: "policy_denied",
  not_found: "invalid_request_error",
  precondition: "invalid_request_error",
  too_large: "request_too_large",
  quota: "insufficient_quota",
  rate_limit: "rate_limit_error",
  upstream: "upstream_error",
  timeout: "upstream_error",
  unavailable: "upstream_error",
  internal: "server_error",
};

/**
 * Errors and limits as OpenAI's clients read them, and those of Cohere, Jina and Voyage, subject
 * requests have the same paths' errors.
 */
export const OPENAI_FAMILY: ProtocolFamily = {
  unsentHeaders: ["openai-beta", "openai-organization", "openai-project"],
  errorTypes: OPENAI_TYPES,
  renderError: renderOpenAiError,
  errorSchema,
  narrowedError: (type, code) => ({ properties: { error: { properties: { type, code } } } }),
  errorExample: ({ kind, code, message }, requestId) => ({
    error: {
      message: `${message} (request id ${requestId})`,
      type: OPENAI_TYPES[kind],
      param: null,
      code,
    },
  }),
  ...limitHeaders(
    (measure, part) => `x-ratelimit-${part}-${measure}`,
    ({ untilReset }) => formatDuration(untilReset),
    "the time until it is whole, such as 1m30s.",
  ),
};

function errorSchema(facts: Readonly<Record<string, JsonObject>>): JsonObject {
  return {
    title: "Error",
    ...complete({
      error: {
        type: "object",
        required: ["message", "type", "param", "code"],
        properties: {
          message: ERROR_MESSAGE,
          type: { ...TEXT, description: "The kind of error, as this protocol names it." },
          param: {
            ...NULLABLE_TEXT,
            description: "Path of the member, parameter or header concerned.",
          },
          code: { ...TEXT, description: "For programs; docs/api.md says what each means." },
          ...DENIAL,
          ...facts,
        },
      },
    }),
  };
}

/**
 * `1h2m3s`, with `0m` only between hours and seconds; rounded up to whole seconds. @param
 * milliseconds at least 0.
 */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/**
 * `{"error": {message, type, param, code, …}}`; a denial adds policy, failed constraint, reason
 * code and decision id, an endpoint of our own its facts.
 */
function renderOpenAiError(error: ServiceError, requestId: string): string {
  return JSON.stringify({ error: errorObject(error, requestId) });
}

/**
 * The error object, then `[DONE]`: official clients throw at the first and stop reading at the
 * second (docs/protocols.md#how-a-stream-ends).
 */
export function renderOpenAiStreamFailure(error: ServiceError, requestId: string): Uint8Array {
  const frame = formatSseEvent(renderOpenAiError(error, requestId));
  const done = formatSseEvent("[DONE]");
  const both = new Uint8Array(frame.length + done.length);
  both.set(frame);
  both.set(done, frame.length);
  return both;
}

function errorObject(error: ServiceError, requestId: string): object {
  return {
    message: `${error.message} (request id ${requestId})`,
    type: OPENAI_TYPES[error.kind],
    param: error.param,
    code: error.code,
    ...error.facts,
    ...denialMembers(error, requestId),
  };
}

/** 0 is what the protocols do without the member. */
export function readPenalty(
  body: JsonObject,
  name: "frequency_penalty" | "presence_penalty",
  reading: RequestReading,
): number | null {
  const penalty = numberOrNull(body[name]) ?? 0;
  if (penalty === 0) return null;
  reading.use("penalties", name);
  if (penalty < 0 || penalty > 1) reading.use("penalties_outside_0_1", name);
  return penalty;
}

/** `null` where the member is absent or holds no token. */
export function readLogitBias(
  { logit_bias: bias }: JsonObject,
  reading: RequestReading,
): JsonObject | null {
  if (!isJsonObject(bias) || Object.keys(bias).length === 0) return null;
  reading.use("logit_bias", "logit_bias");
  return bias;
}

/**
 * Stop sequences; what more than four of them use is the caller's to note. Line breaks are common
 * ones, and not all protocols take blank ones.
 */
export function readStop({ stop }: JsonObject, reading: RequestReading): readonly string[] {
  if (stop == null) return [];
  const texts = (Array.isArray(stop) ? stop : [stop]).filter(
    (one: JsonValue) => typeof one === "string",
  );
  if (texts.length > 0) reading.use("stop_sequences", "stop");
  if (texts.some((one) => one.trim() === "")) reading.use("stop_sequences_blank", "stop");
  return texts;
}

/** Members that may help, and that canon holds. */
export function readHints(body: JsonObject, reading: RequestReading): Hints {
  if (body.prompt_cache_options != null) reading.dropped.add("cache_hint_dropped");
  return {
    serviceTier: textOrNull(body.service_tier),
    promptCacheKey: textOrNull(body.prompt_cache_key),
    promptCacheRetention: textOrNull(body.prompt_cache_retention),
  };
}

/** Whether the body has stream options. @returns the 400 where it has some and does not stream. */
export function readIncludeUsage(body: JsonObject, stream: boolean): boolean | ServiceError {
  const { stream_options: options } = body;
  if (!isJsonObject(options)) return false;
  if (stream) return options.include_usage === true;
  const sentence = "stream_options is only allowed when stream is true";
  return invalidRequest("invalid_stream_options", sentence, "stream_options");
}

/**
 * The type of a content part that the router knows. `null` for an unknown one, which cannot be
 * approved: only a route that forwards takes it.
 */
export function partType<Known extends object>(
  part: JsonValue | undefined,
  known: Known,
  path: string,
  reading: RequestReading,
): (keyof Known & string) | null {
  const type = memberIn(part, "type");
  if (typeof type === "string" && isKeyOf(known, type)) return type;
  const sentence = `${path}.type must be one of ${Object.keys(known).join(", ")}`;
  reading.unknownKind ??= invalidRequest("unknown_content_part", sentence, `${path}.type`);
  return null;
}

function isKeyOf<Known extends object>(known: Known, name: string): name is keyof Known & string {
  return Object.hasOwn(known, name);
}

/**
 * The 400 for a top-level member that requests that content is stored, or names stored content.
 * Such members are refused on every route, also where unknown members are forwarded
 * (docs/protocols.md#stored-state).
 *
 * @param sentences what each member does, and what to send instead.
 */
export function statefulMember(
  body: JsonObject,
  sentences: Readonly<Record<string, string>>,
): ServiceError | null {
  for (const name in sentences) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    if (value == null || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return storedState(name, sentences[name] ?? "");
  }
  const cache = body.prompt_cache_options;
  return isJsonObject(cache) && cache.comparison_response_id != null
    ? storedState(
        "prompt_cache_options.comparison_response_id",
        "names an answer kept at a provider; leave it out",
      )
    : null;
}

/** The 400 for a part, or a member of one, that names a file kept at a provider. */
export function storedFile(part: JsonObject, path: string): ServiceError | null {
  if (part.file_id == null) return null;
  return storedState(`${path}.file_id`, "names a file kept at a provider; send the file itself");
}

/**
 * Service tiers of OpenAI's protocols (docs/protocols.md#chat-completions); canon uses the same
 * values.
 */
export const SERVICE_TIERS = ["auto", "default", "flex", "scale", "priority", "fast"];

/** Characters as protocols count them: a surrogate pair is one. */
export function codePoints(text: string): number {
  let points = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff) points -= 1;
  }
  return points;
}

/**
 * Azure's addresses around the protocol's own: the deployment before the path, where the provider's
 * flag says so, and the version of the interface in the query, where its row has one; the path
 * itself where the provider needs neither.
 */
export function deploymentPath(
  path: string,
  { endpoint, provider: { flags, apiVersion } }: Target,
): string {
  const isDeployed = flags.includes("deployment_paths");
  const prefix = isDeployed ? `/deployments/${encodeURIComponent(endpoint.upstreamModel)}` : "";
  return apiVersion === null
    ? `${prefix}${path}`
    : `${prefix}${path}?api-version=${encodeURIComponent(apiVersion)}`;
}

/** Only the address is the provider's own: framing, members and errors are the protocol's. */
export function deploymentHost(readError: Upstream["readError"]): NonNullable<Upstream["host"]> {
  return (request: OutgoingRequest, target: Target): HostedRequest | null => {
    const path = deploymentPath(request.path, target);
    if (path === request.path) return null;
    return {
      ...request,
      path,
      stripped: [],
      streamType: "text/event-stream",
      unwrapStream: (stream) => stream,
      unwrapAnswer: (bytes) => bytes,
      readError,
    };
  };
}
