import type { JsonObject } from "../../../canon/json.ts";
import type { EventStream } from "../../../dialects/contract/event-stream.ts";
import { titleOf } from "../../../dialects/contract/event-union.ts";

/**
 * The schema of one server-sent event of a stream, with the fields that the WHATWG's HTML standard gives it.
 * It is modelled as OpenAPI 3.2 does for `itemSchema`: `data` is a string, and `contentSchema` describes the JSON in it.
 */
export function serverSentEvent({ events, isNamed, hasDone, ends }: EventStream): JsonObject {
  const json: JsonObject = { type: "string", contentMediaType: "application/json", contentSchema: events };
  return {
    title: `ServerSent${titleOf(events)}`,
    description: `One event of the stream. The answer is complete if the stream ends with: ${ends}`,
    type: "object",
    required: isNamed && !hasDone ? ["event", "data"] : ["data"],
    properties: {
      event: {
        type: "string",
        description: isNamed
          ? "The event's name: `type` of its data. Only `[DONE]` has none."
          : "Events of this stream have no name.",
      },
      data: hasDone ? { anyOf: [{ const: DONE, description: "The last event." }, json] } : json,
    },
  };
}

/** Data of the last event in OpenAI's protocols; it is not JSON. */
const DONE = "[DONE]";

/** Events of a recorded stream as examples by name: the first of each name; of a stream without names the first and the last. */
export function eventExamples(stream: string): Readonly<Record<string, JsonObject>> {
  const shown: Record<string, JsonObject> = {};
  for (const event of stream.split("\n\n")) {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    const name = /^event: (.*)$/m.exec(event)?.[1];
    if (data === undefined) continue;
    if (data === DONE) shown["done"] = { data };
    else if (name !== undefined) shown[name] ??= { event: name, data };
    else if (shown["first"] === undefined) shown["first"] = { data };
    else shown["last"] = { data };
  }
  return shown;
}
