import type { ErrorKind, ServiceError } from "../../canon/error.ts";
import type {
  DataSource,
  FilePart,
  GenerateRequest,
  Hints,
  ImagePart,
  InputPart,
  OutputFormat,
  RefusalPart,
  TextPart,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT, complete } from "../../canon/json/schema.ts";
import { isWebUrl, readDataUrl } from "../data-url.ts";
import type { Target, Upstream } from "../dialect.ts";
import {
  flagOrNull,
  listOf,
  memberIn,
  numberOrNull,
  parseJsonText,
  textOf,
  textOrNull,
} from "../json.ts";
import { storedState } from "../kinds.ts";
import {
  DENIAL,
  ERROR_MESSAGE,
  denialMembers,
  limitHeaders,
  type ProtocolFamily,
} from "../protocol-family.ts";
import { hasUnknownMember, type RequestReading } from "../request-reading.ts";
import { formatLastSseEvent } from "../sse.ts";
import { namedToolFeature } from "../translate-request.ts";

/** The error in schemas of streams. */
export const OPENAI_ERROR = { $ref: "#/components/schemas/Error" } as const;

/** The `type` of each kind of error (docs/protocols.md#error-bodies). */
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

/** Errors and limits for OpenAI's clients, and for those of Cohere, Jina and Voyage. */
export const OPENAI_FAMILY: ProtocolFamily = {
  unsentHeaders: ["openai-beta", "openai-organization", "openai-project"],
  errorTypes: OPENAI_TYPES,
  renderError: renderOpenAiError,
  errorSchema: (facts) => ({
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
  }),
  narrowedError: (type, code) => ({ properties: { error: { properties: { type, code } } } }),
  errorExample: (error, requestId) => ({
    error: errorMembers({ ...error, param: null }, requestId),
  }),
  ...limitHeaders(
    (measure, part) => `x-ratelimit-${part}-${measure}`,
    ({ untilReset }) => formatDuration(untilReset),
    "the time until it is whole, such as 1m30s.",
  ),
};

/**
 * `1h2m3s`, with `0m` only between hours and seconds; rounded up to whole seconds. @param
 * milliseconds at least 0.
 */
function formatDuration(milliseconds: number): string {
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
  const members = { ...error.facts, ...denialMembers(error, requestId) };
  return JSON.stringify({ error: { ...errorMembers(error, requestId), ...members } });
}

function errorMembers(
  { message, kind, param, code }: Pick<ServiceError, "message" | "kind" | "param" | "code">,
  requestId: string,
) {
  return { message: `${message} (request id ${requestId})`, type: OPENAI_TYPES[kind], param, code };
}

/**
 * The error object, then `[DONE]`: official clients throw at the first and stop reading at the
 * second (docs/protocols.md#how-a-stream-ends).
 */
export function renderOpenAiStreamFailure(error: ServiceError, requestId: string): Uint8Array {
  return formatLastSseEvent(renderOpenAiError(error, requestId));
}

type Sampling = "temperature" | "topP" | "topK" | "frequencyPenalty" | "presencePenalty";

/** Sampling settings of all three protocols. */
export function readSampling(
  body: JsonObject,
  reading: RequestReading,
): Pick<GenerateRequest, Sampling> {
  const temperature = numberOrNull(body.temperature);
  if ((temperature ?? 0) > 1) reading.use("temperature_above_1", "temperature");
  return {
    temperature,
    topP: numberOrNull(body.top_p),
    topK: null,
    frequencyPenalty: readPenalty(body, "frequency_penalty", reading),
    presencePenalty: readPenalty(body, "presence_penalty", reading),
  };
}

/** 0 is the default of the protocols. */
function readPenalty(
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

/**
 * Settings of chat and legacy completions. More than four stop sequences are for the caller to
 * note; line breaks are common ones, and not all protocols accept blank ones.
 */
export function readTextSettings(
  { logit_bias: bias, seed, stop }: JsonObject,
  reading: RequestReading,
): Pick<GenerateRequest, "logitBias" | "seed" | "stop"> {
  const logitBias = isJsonObject(bias) && Object.keys(bias).length > 0 ? bias : null;
  if (logitBias !== null) reading.use("logit_bias", "logit_bias");
  const stops = (Array.isArray(stop) ? stop : [stop]).filter((one) => typeof one === "string");
  if (stops.length > 0) reading.use("stop_sequences", "stop");
  if (stops.some((one) => one.trim() === "")) reading.use("stop_sequences_blank", "stop");
  return { logitBias, seed: numberOrNull(seed), stop: stops };
}

/** Notes the requirements of a response format that is JSON. */
export function noteFormat(
  type: "json_object" | "json_schema",
  path: string,
  tools: JsonMember,
  forcesTool: boolean,
  reading: RequestReading,
): void {
  reading.need(type, path);
  if (listOf(tools).length > 0) reading.use("schema_with_tools", path);
  if (forcesTool || reading.has("reasoning")) reading.use("constrained_schema", path);
}

export function schemaFormat(
  { name, description, strict }: JsonObject,
  schema: JsonObject,
): OutputFormat {
  return {
    kind: "json_schema",
    name: textOrNull(name),
    description: textOrNull(description),
    schema,
    strict: flagOrNull(strict),
  };
}

export type ToolsRequest = Pick<GenerateRequest, "tools" | "toolChoice" | "parallelToolCalls">;

/** @param path of the object that holds the function's name and schema. */
export function readFunction(
  { name, description, parameters, strict }: JsonObject,
  path: string,
  cache: Tool["cache"],
  reading: RequestReading,
): Tool {
  if (strict === true) reading.use("tool_strict", `${path}.strict`);
  return {
    name: textOf(name),
    description: textOrNull(description),
    parameters: isJsonObject(parameters) ? parameters : null,
    strict: flagOrNull(strict),
    cache,
  };
}

type ForcedChoice =
  | { readonly mode: "required" }
  | Exclude<ToolChoice, { readonly mode: "auto" | "none" | "required" }>;

/**
 * A tool choice other than `auto` and `none`; `null` where canon cannot hold it.
 *
 * @param isNested whether names are in a member `function` and lists in `allowed_tools`, as in chat
 *   completions; in responses both are beside `type`.
 */
export function readToolChoice(choice: JsonMember, isNested: boolean): ForcedChoice | null {
  if (choice === "required") return { mode: choice };
  const name = functionName(choice, isNested);
  if (name !== null) return { mode: "named", name };
  const { mode, tools } = choiceMembers(choice, "allowed_tools", ["mode", "tools"], isNested) ?? {};
  if (!Array.isArray(tools) || (mode !== "auto" && mode !== "required")) return null;
  const names = tools.flatMap((tool: JsonValue) => functionName(tool, isNested) ?? []);
  if (names.length === 0 || names.length < tools.length) return null;
  return { mode: "allowed", names, required: mode === "required" };
}

function functionName(tool: JsonMember, isNested: boolean) {
  return textOrNull(choiceMembers(tool, "function", ["name"], isNested)?.name);
}

/** The object with the known members; `null` where the choice is of another type, or has others. */
function choiceMembers(
  choice: JsonMember,
  type: "function" | "allowed_tools",
  allowed: readonly string[],
  isNested: boolean,
): JsonObject | null {
  if (!isJsonObject(choice) || choice.type !== type) return null;
  if (isNested && hasUnknownMember(choice, ["type", type])) return null;
  const members = isNested ? choice[type] : choice;
  const names = isNested ? allowed : ["type", ...allowed];
  return isJsonObject(members) && !hasUnknownMember(members, names) ? members : null;
}

/**
 * A tool choice other than `auto` and `none`, as canon has it. A choice of a tool that is not among
 * the request's functions is left to the provider.
 *
 * @param all the request's list of tools. @param tools its functions.
 */
export function readForcedChoice(
  choice: JsonValue,
  all: JsonMember,
  tools: readonly Tool[],
  isNested: boolean,
  reading: RequestReading,
): ToolChoice | null {
  const parsed = readToolChoice(choice, isNested);
  const names =
    parsed?.mode === "named" ? [parsed.name] : parsed?.mode === "allowed" ? parsed.names : [];
  const isOffered = names.every((name) => tools.some((tool) => tool.name === name));
  if (parsed === null || tools.length === 0 || !isOffered) {
    reading.useNative("tool_choice");
    return null;
  }
  const { mode } = parsed;
  reading.use(mode === "named" ? namedToolFeature(all) : `tool_choice_${mode}`, "tool_choice");
  return parsed;
}

/** A content part that canon can hold in some turn. */
export type ContentPart = InputPart | RefusalPart;

export const isTextPart = (part: ContentPart): part is TextPart => part.kind === "text";
export const isAnswerPart = (part: ContentPart): part is TextPart | RefusalPart =>
  part.kind === "text" || part.kind === "refusal";
export const isInputPart = (part: ContentPart): part is InputPart => part.kind !== "refusal";
export const isResultPart = (part: ContentPart): part is TextPart | ImagePart | FilePart =>
  part.kind !== "refusal" && part.kind !== "audio";

/** Media types of files that every protocol with files accepts. */
export const COMMON_FILES = ["application/pdf", "text/plain"];

export function sourceOf(url: string): DataSource {
  const data = readDataUrl(url);
  return data === null ? { kind: "url", url } : { kind: "base64", ...data };
}

/**
 * An image by its address. Notes an address, or a detail, that not all protocols accept.
 *
 * @param path of the object with the detail. @param member of the address in it.
 */
export function readImage(
  url: string,
  detail: JsonMember,
  path: string,
  member: "url" | "image_url",
  reading: RequestReading,
): Pick<ImagePart, "kind" | "source" | "detail"> {
  const source = sourceOf(url);
  if (source.kind === "url")
    reading.use(isWebUrl(url) ? "image_url" : reading.native, `${path}.${member}`);
  const isSized = detail === "low" || detail === "high";
  if (isSized) reading.use("image_detail", `${path}.detail`);
  else if (detail != null && detail !== "auto") reading.useNative(`${path}.detail`);
  return { kind: "image", source, detail: isSized || detail === "auto" ? detail : null };
}

/**
 * The arguments of a call in the history. Other protocols require an object where OpenAI's accept
 * any text.
 */
export function readArguments(text: string, path: string, reading: RequestReading): string {
  if (text.trim() === "") {
    reading.dropped.add("tool_arguments_normalised");
    return "{}";
  }
  if (reading.forTranslation && !isJsonObject(parseJsonText(text))) {
    const rule =
      "must be the text of a JSON object: an endpoint that may get the request takes nothing else";
    reading.refuseMember("invalid_tool_arguments", path, rule);
  }
  return text;
}

/** Hints that canon holds. */
export function readHints(body: JsonObject, reading: RequestReading): Hints {
  if (body.prompt_cache_options != null) reading.dropped.add("cache_hint_dropped");
  return {
    serviceTier: textOrNull(body.service_tier),
    promptCacheKey: textOrNull(body.prompt_cache_key),
    promptCacheRetention: textOrNull(body.prompt_cache_retention),
  };
}

/** Refuses options of a stream where nothing streams. */
export function refuseStreamOptions(
  { stream, stream_options: options }: JsonObject,
  reading: RequestReading,
): void {
  if (stream === true || !isJsonObject(options)) return;
  const rule = "is only allowed when stream is true";
  reading.refuseMember("invalid_stream_options", "stream_options", rule);
}

/** Whether a body requests token counts at the end of its stream. */
export function includesUsage({ stream_options: options }: JsonObject): boolean {
  return memberIn(options, "include_usage") === true;
}

/**
 * A known type of a content part. `null` for an unknown one, which cannot be approved: only a route
 * that forwards unknown members accepts it.
 */
export function partType<Types extends object>(
  part: JsonMember,
  types: Types,
  path: string,
  reading: RequestReading,
): (keyof Types & string) | null {
  const type = memberIn(part, "type");
  if (typeof type === "string" && isKeyOf(types, type)) return type;
  const rule = `must be one of ${Object.keys(types).join(", ")}`;
  reading.noteUnknownKind("unknown_content_part", `${path}.type`, rule);
  return null;
}

function isKeyOf<Table extends object>(table: Table, name: string): name is keyof Table & string {
  return Object.hasOwn(table, name);
}

/**
 * The 400 for a top-level member that requests that content is stored, or names stored content.
 * Such members are refused on every route, also where unknown members are forwarded
 * (docs/protocols.md#stored-state).
 *
 * @param sentences by member: its effect, and the fix.
 */
export function statefulMember(
  body: JsonObject,
  sentences: Readonly<Record<string, string>>,
): ServiceError | null {
  for (const name in sentences) {
    const value = memberIn(body, name);
    const isAbsent = value == null || value === false || (Array.isArray(value) && !value.length);
    if (!isAbsent) return storedState(name, sentences[name] ?? "");
  }
  return memberIn(body.prompt_cache_options, "comparison_response_id") == null
    ? null
    : storedState(
        "prompt_cache_options.comparison_response_id",
        "names an answer kept at a provider; leave it out",
      );
}

/**
 * Service tiers of OpenAI's protocols (docs/protocols.md#chat-completions); canon uses the same
 * values.
 */
export const SERVICE_TIERS = Object.fromEntries(
  ["auto", "default", "flex", "scale", "priority", "fast"].map((tier) => [tier, tier]),
);

/** Number of Unicode characters: a surrogate pair is one. */
export function codePoints(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0);
}

/**
 * Path at Azure: with the flag, the deployment comes before it; with `api_version` in the
 * provider's row, the version is in the query.
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

/** Only the path differs: framing, members and errors are the protocol's. */
export const deploymentHost: NonNullable<Upstream["host"]> = (request, target) => {
  const path = deploymentPath(request.path, target);
  return path === request.path ? null : { ...request, path, stripped: [] };
};
