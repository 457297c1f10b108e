import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { AnswerContext } from "../../../src/dialects/dialect.ts";
import { contextOf, NO_EDITS } from "./target.ts";
import type { Protocol } from "./table.ts";

/**
 * A caller who streams and wants to know the counts, as far as the protocol lets one ask. `more`:
 * what else the body requires.
 */
export function contextFor({ spoken }: Protocol, more: JsonObject = {}): AnswerContext {
  const options =
    "stream_options" in spoken.fields && spoken.operation !== "responses"
      ? { stream_options: { include_usage: true } }
      : {};
  const request = spoken.read({ ...spoken.body, ...options, ...more, stream: true });
  if ("code" in request)
    throw new Error(`${spoken.operation} refuses a small body: ${request.message}`);
  return contextOf(request);
}

/** What the answer is an answer to: a small request, with the tools that the answers call. */
export function requestFor(protocol: Protocol, more: JsonObject = {}): GenerateRequest {
  const canonical = protocol.spoken.surface.translation.toCanon(
    contextFor(protocol, more).request,
    "reject",
    NO_EDITS,
  );
  if ("code" in canonical) throw new Error(canonical.message);
  const tools = ["look_up", "send"].map((name) => ({
    name,
    description: null,
    parameters: null,
    strict: null,
    cache: null,
  }));
  return { ...canonical.request, tools };
}

/**
 * An answer that the protocol's callers may get. One with calls that were not requested is a
 * failure where it ends properly (`Translation.impossibleEnds`); cut off, it is an answer still.
 */
export function answerable(
  { spoken }: Protocol,
  events: readonly InferenceEvent[],
): readonly InferenceEvent[] {
  const { impossibleEnds = [] } = spoken.surface.translation;
  const calls = events.some((event) => event.type === "open" && event.block.kind === "tool_call");
  if (!calls || !impossibleEnds.includes("tool_calls")) return events;
  return events.map((event) =>
    event.type === "finish" && (event.reason === "stop" || event.reason === "tool_calls")
      ? { ...event, reason: "length", stopSequence: null }
      : event,
  );
}
