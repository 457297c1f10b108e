import { invalidRequest, type ServiceError } from "../../../src/canon/error.ts";
import { codedError } from "../../../src/canon/error-codes.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import type { InferenceRequest } from "../../../src/canon/request.ts";
import type { CanonicalRequest, FormattedRequest, Target } from "../../../src/dialects/dialect.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { parseSseEvent, SseFramer } from "../../../src/dialects/sse.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "../../support/dialects.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const responsesUpstream = upstreamFor("generate", "openai-responses");

export { contextOf, NO_EDITS };

/**
 * Every member that Open Responses requires of a response resource (docs/protocols.md#responses);
 * providers omit some of them.
 */
export const RESOURCE_MEMBERS = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "previous_response_id",
  "instructions",
  "output",
  "error",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "reasoning",
  "usage",
  "max_output_tokens",
  "max_tool_calls",
  "store",
  "background",
  "service_tier",
  "metadata",
  "safety_identifier",
  "prompt_cache_key",
] as const;

export const FAILURE: ServiceError = codedError("upstream_truncated", "It broke.");

/** A target whose model signs for the family of the tests. */
export const TARGET: Target = targetOf("openai-responses");

export function parse(more: JsonObject = {}): InferenceRequest {
  const parsed = responsesSurface.parse({ model: "r", input: "hi", ...more }, 400, NO_HEADERS);
  if ("code" in parsed) throw new Error(`${parsed.code} ${parsed.param ?? ""}`);
  return parsed;
}

export function refusal(more: JsonObject): ServiceError {
  const parsed = responsesSurface.parse({ model: "r", input: "hi", ...more }, 400, NO_HEADERS);
  if ("code" in parsed) return parsed;
  const { unknownKind } = parsed;
  if (!unknownKind) throw new Error("was not refused");
  return invalidRequest(unknownKind.code, unknownKind.message, unknownKind.param ?? undefined);
}

export function toCanon(more: JsonObject): CanonicalRequest {
  const canonical = responsesSurface.translation.toCanon(parse(more), "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(`${canonical.code} ${canonical.param ?? ""}`);
  return canonical;
}

/** The smallest request in canon, and what a test adds to it. */
export function generate(more: Partial<GenerateRequest> = {}): GenerateRequest {
  return { ...toCanon({}).request, ...more };
}

export function format(
  more: Partial<GenerateRequest> = {},
  target: Target = TARGET,
): FormattedRequest {
  const formatted = responsesUpstream.format(generate(more), target);
  if ("code" in formatted) throw new Error(`${formatted.code} ${formatted.param ?? ""}`);
  return formatted;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const bytesOf = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));
export const textOf = (pieces: readonly Uint8Array[]): string =>
  pieces.map((piece) => decoder.decode(piece)).join("");

export function typeOf({ type }: JsonObject): string {
  return typeof type === "string" ? type : "";
}

/** Events of the protocol as a provider sends them. */
export function wire(...events: readonly JsonObject[]): string {
  return events
    .map((event) => `event: ${typeOf(event)}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

/** The JSON of every event of a stream, and whether `[DONE]` came last. */
export function read(stream: string): {
  readonly events: readonly JsonObject[];
  readonly done: boolean;
} {
  const parts = new SseFramer().push(encoder.encode(stream)).map(parseSseEvent);
  const data = parts.flatMap((part) => (part.data === null ? [] : [part.data]));
  const done = data.at(-1) === "[DONE]";
  const events = (done ? data.slice(0, -1) : data).map((text) => {
    const event: unknown = JSON.parse(text);
    if (!isJsonObject(event)) throw new Error("an event that is no object");
    return event;
  });
  return { events, done };
}

/** What the upstream's parser makes of a stream, given in pieces of `size` bytes. */
export function parseWire(
  stream: string,
  size = Infinity,
  target: Target = TARGET,
): readonly InferenceEvent[] {
  const bytes = encoder.encode(stream);
  const parser = responsesUpstream.parseStream(generate(), target);
  const events: InferenceEvent[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    events.push(...parser.push(bytes.subarray(start, Math.min(bytes.length, start + size))));
  }
  events.push(...parser.endAnswer());
  return events;
}

/** What the surface prints for events. */
export function render(events: readonly InferenceEvent[], more: JsonObject = {}): string {
  const renderer = responsesSurface.translation.renderStream(
    contextOf(parse({ stream: true, ...more })),
  );
  return textOf(events.flatMap((event) => renderer.push(event)));
}
