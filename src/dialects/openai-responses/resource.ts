import type { ServiceError } from "../../canon/error.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import { readSignature, relayedSignature, tagSignature } from "../../canon/generate/signature.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { base64ToText, textToBase64 } from "../../canon/json/text-base64.ts";
import type { AnswerContext } from "../dialect.ts";
import {
  listOf,
  mapObjects,
  memberIn,
  textOf,
  withMember,
  withObject,
  type Members,
} from "../json.ts";
import { RESPONSE_FAILURES } from "../refusals.ts";
import { formatLastSseEvent } from "../sse.ts";
import { NATIVE_FAMILY, requestedFormat } from "./request-facts.ts";

/**
 * The members of a resource that repeat the request; absent ones get the protocol's documented
 * defaults.
 */
export function requestEcho(body: JsonObject): JsonObject {
  const { tools, reasoning } = body;
  const echo: Members = {};
  for (const name in DEFAULTS) echo[name] = body[name] ?? DEFAULTS[name];
  return {
    ...echo,
    ...NEVER_ECHOED,
    tools: listOf(tools).map(echoedTool),
    text: echoedText(body),
    reasoning: isJsonObject(reasoning) ? echoedReasoning(reasoning) : null,
  };
}

/** Members whose values are never the request's: nothing is stored. */
const NEVER_ECHOED = { previous_response_id: null, store: false, background: false } as const;

/** The protocol's documented defaults, in the order of a resource. */
const DEFAULTS: JsonObject = {
  previous_response_id: null,
  instructions: null,
  tools: [],
  tool_choice: "auto",
  truncation: "disabled",
  parallel_tool_calls: true,
  text: null,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  temperature: 1,
  reasoning: null,
  max_output_tokens: null,
  max_tool_calls: null,
  store: false,
  background: false,
  service_tier: "default",
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
  user: null,
};

/**
 * Every member that Open Responses requires of a response resource (docs/protocols.md#responses);
 * providers omit some of them.
 */
const RESOURCE_MEMBERS = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "output",
  "error",
  "usage",
  ...Object.keys(DEFAULTS).filter((name) => name !== "user"),
];

/** In an answer, function tools have all members, also those that the request omits. */
function echoedTool(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool.type !== "function") return tool;
  const { description, parameters, strict } = tool;
  return {
    ...tool,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}

function echoedText(body: JsonObject): JsonObject {
  const requested = requestedFormat(body);
  return {
    format: requested === null ? { type: "text" } : echoedFormat(requested.format),
    verbosity: memberIn(body.text, "verbosity") ?? undefined,
  };
}

function echoedFormat(format: JsonObject): JsonObject {
  if (format.type !== "json_schema") return { type: format.type ?? "text" };
  return {
    type: "json_schema",
    name: format.name ?? "response",
    description: format.description ?? null,
    schema: format.schema ?? {},
    strict: format.strict ?? false,
  };
}

function echoedReasoning(reasoning: JsonObject): JsonObject {
  const { effort, summary, generate_summary: older } = reasoning;
  return { effort: effort ?? null, summary: summary ?? older ?? null };
}

const COMPLETED = { status: "completed", incomplete_details: null } as const;

/**
 * Status and details for a finish reason (docs/protocols.md#finish-reasons). A refusal with a text
 * of its own is a completed answer, one without it is a filtered answer.
 *
 * @param hasRefusal whether the answer holds a refusal.
 */
export function conclusionOf(reason: FinishReason, hasRefusal: boolean) {
  switch (reason) {
    case "stop":
    case "stop_sequence":
    case "tool_calls":
      return COMPLETED;
    case "refusal":
      return hasRefusal ? COMPLETED : incomplete("content_filter");
    case "content_filter":
      return incomplete("content_filter");
    case "length":
    case "context_window":
      return incomplete("max_output_tokens");
    case "pause":
    case "other":
      // They end relayed answers only, and must not look like a whole one.
      return incomplete("other");
  }
}

function incomplete(reason: string) {
  return { status: "incomplete", incomplete_details: { reason } } as const;
}

/** Codes of the protocol for a failed answer, and three more that coding agents handle. */
const CODES = [
  ...RESPONSE_FAILURES,
  "context_length_exceeded",
  "insufficient_quota",
  "key_revoked",
];

/** The `error` member of a failed answer, with our own sentence. */
export function failureObject(error: ServiceError, requestId: string) {
  const code = CODES.includes(error.code)
    ? error.code
    : error.kind === "rate_limit"
      ? "rate_limit_exceeded"
      : "server_error";
  return { code, message: `${error.message} (request id ${requestId})` };
}

/**
 * The `error` member of a relayed failed answer: the provider's code where the protocol has it, and
 * our own sentence.
 *
 * @param error the provider's.
 */
export function failedObject(error: JsonMember, requestId: string): JsonObject {
  const code = textOf(memberIn(error, "code"));
  return {
    code: CODES.includes(code) ? code : "server_error",
    message: `The provider reported that the response failed. (request id ${requestId})`,
  };
}

/** `response.failed` and `[DONE]`: the end of a stream whose client has seen `response.created`. */
export function printFailed(response: JsonObject, sequence: number): Uint8Array {
  const event = { type: "response.failed", sequence_number: sequence, response };
  return formatLastSseEvent(JSON.stringify(event), event.type);
}

/**
 * The `error` event and `[DONE]`, for a stream without any event so far. Official clients throw at
 * it, which after `response.created` would hide the partial answer (docs/protocols.md#responses).
 * It is written flat and nested at once, because the protocol's two descriptions differ.
 */
export function printErrorEvent(error: ServiceError, requestId: string): Uint8Array {
  const { code, message } = failureObject(error, requestId);
  const { param } = error;
  const event = {
    type: "error",
    sequence_number: 0,
    code,
    message,
    param,
    error: { type: code, code, message, param },
  };
  return formatLastSseEvent(JSON.stringify(event), event.type);
}

/**
 * Whether a provider's resource has every member that clients of Open Responses demand, in itself
 * and in its text parts.
 */
export function isFullResource(response: JsonObject): boolean {
  const { output } = response;
  return (
    RESOURCE_MEMBERS.every((name) => Object.hasOwn(response, name)) && fillOutput(output) === output
  );
}

/** The provider's resource with its missing members; existing ones keep their value and order. */
export function fillResource(response: JsonObject, context: AnswerContext): JsonObject {
  const now = context.now();
  const defaults: JsonObject = {
    ...requestEcho(context.request.body),
    id: `resp_${context.answerId}`,
    object: "response",
    created_at: now,
    completed_at: response.status === "completed" ? now : null,
    incomplete_details: null,
    model: context.model,
    output: [],
    error: null,
    usage: null,
  };
  const filled: Members = { ...response };
  for (const name of RESOURCE_MEMBERS)
    if (!Object.hasOwn(response, name)) filled[name] = defaults[name] ?? null;
  filled.output = fillOutput(filled.output);
  filled.request_id = context.requestId;
  return filled;
}

/** Events that carry the probabilities of a text, a part, or an item. */
const TEXT_EVENTS = ["response.output_text.delta", "response.output_text.done"];
const PART_EVENTS = ["response.content_part.added", "response.content_part.done"];
export const ITEM_EVENTS = ["response.output_item.added", "response.output_item.done"];

/** The event with the lists that the surface promises; the event itself where it has them all. */
export function fillEvent(type: string, event: JsonObject): JsonObject {
  if (TEXT_EVENTS.includes(type)) return withMember(event, "logprobs", listOrEmpty);
  if (PART_EVENTS.includes(type)) return withObject(event, "part", fillPart);
  return ITEM_EVENTS.includes(type) ? withObject(event, "item", fillItem) : event;
}

/** Events about a part of an item's content. */
const PART = /^response\.(?:content_part|output_text|refusal|reasoning_text)\./;

/**
 * Positions of items and parts that a provider omits (llama.cpp's server,
 * https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md), by the order of the
 * events. Official clients identify items by them.
 */
export class EventPositions {
  /** Item id → its position. */
  readonly #items = new Map<JsonMember, number>();
  #part = 0;

  /** Missing positions; `null` for a complete event. Call once per event, in order. */
  missing(type: string, event: JsonObject): JsonObject | null {
    const { item, item_id: id, output_index: index, content_index: content } = event;
    const isItem = isJsonObject(item);
    if (!isItem && id === undefined) return null;
    const name = isItem ? item.id : id;
    const latest = this.#items.get(name) ?? Math.max(this.#items.size - 1, 0);
    const begins = type === "response.output_item.added";
    const position = typeof index === "number" ? index : begins ? this.#items.size : latest;
    if (begins) {
      this.#items.set(name, position);
      this.#part = -1;
    } else if (type === "response.content_part.added") this.#part += 1;
    const lacksPart = PART.test(type) && typeof content !== "number";
    if (typeof index === "number" && !lacksPart) return null;
    return {
      output_index: position,
      content_index: lacksPart ? Math.max(this.#part, 0) : undefined,
    };
  }
}

function fillOutput(output: JsonMember) {
  return mapObjects(output, fillItem);
}

/** An item with the lists that its text parts lack; the item itself where they have them all. */
export function fillItem(item: JsonObject): JsonObject {
  return withMember(item, "content", (content) => mapObjects(content, fillPart));
}

/**
 * Clients of Open Responses require both lists of a text part; providers omit empty ones, or send
 * `null`.
 */
function fillPart(part: JsonObject): JsonObject {
  if (part.type !== "output_text") return part;
  return withMember(withMember(part, "annotations", listOrEmpty), "logprobs", listOrEmpty);
}

function listOrEmpty(list: JsonMember): JsonMember {
  return list ?? [];
}

/**
 * Prefix of the text that a tagged signature signs. Base64 has no colon, so no provider's signature
 * begins with it.
 */
const SEALED = "text:";

/**
 * `encrypted_content` of reasoning by a model of another protocol. The text that the signature
 * signs goes along: clients keep this member and the summary, and some (AI SDK, opencode) drop
 * `content`, which has the text too. Without it the next turn would have a signature without
 * text, which providers refuse.
 *
 * @param text full text of the reasoning; empty for a summary, which clients keep.
 */
export function sealReasoning(family: string, signature: string, text: string): string {
  if (text === "") return tagSignature(family, signature);
  return tagSignature(family, `${SEALED}${textToBase64(text)}.${signature}`);
}

/**
 * Reads what {@link sealReasoning} wrote, and every other signature of this protocol. `text` was
 * sealed with the signature; empty where none was.
 */
export function readSealedReasoning(encrypted: string) {
  const { family, signature } = readSignature(encrypted, NATIVE_FAMILY);
  const end = signature.indexOf(".");
  // Without our tag it is the provider's own, whatever it begins with.
  if (signature === encrypted || !signature.startsWith(SEALED) || end === -1)
    return { family, signature, text: "" };
  const text = base64ToText(signature.slice(SEALED.length, end)) ?? "";
  return { family, signature: signature.slice(end + 1), text };
}

/** A response resource with its encrypted reasoning tagged for the client. */
export function tagResource(response: JsonObject, family: string | null): JsonObject {
  return withMember(response, "output", (output) =>
    mapObjects(output, (item) => tagItem(item, family)),
  );
}

/** The same for an event of a stream, which holds an item or a resource. */
export function tagEvent(event: JsonObject, family: string | null): JsonObject {
  return isJsonObject(event.item)
    ? withObject(event, "item", (item) => tagItem(item, family))
    : withObject(event, "response", (response) => tagResource(response, family));
}

/** Reasoning and compacted conversations use the same member. */
function tagItem(item: JsonObject, family: string | null) {
  return withMember(item, "encrypted_content", (sealed) =>
    typeof sealed === "string" ? relayedSignature(sealed, family, NATIVE_FAMILY) : sealed,
  );
}
