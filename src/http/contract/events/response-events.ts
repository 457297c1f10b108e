import type { JsonObject } from "../../../canon/json.ts";
import { RESPONSE } from "../answer-schemas.ts";
import { demanded } from "./demanded.ts";

/** JSON Schema of the events of POST /v1/responses; tests validate real streams against it. */
const text = { type: "string" } as const;
const place = { type: "integer", minimum: 0 } as const;

/** The resource as it ends the stream with this status. */
const ended = (status: string): Readonly<Record<string, JsonObject>> => ({
  response: { allOf: [RESPONSE, { properties: { status: { const: status } } }] },
});

const delta = { delta: text, item_id: text, output_index: place } as const;

export const RESPONSE_EVENT = {
  title: "ResponseEvent",
  description:
    "Told apart by `type`, which is the event's name too. Types that are not described here are a provider's own, relayed as they came.",
  type: "object",
  required: ["type"],
  properties: { type: text, sequence_number: place },
  allOf: [
    demanded("response.created", { response: { type: "object" } }),
    demanded("response.in_progress", { response: { type: "object" } }),
    demanded("response.output_item.added", { item: { type: "object" }, output_index: place }),
    demanded("response.output_item.done", { item: { type: "object" }, output_index: place }),
    demanded("response.content_part.added", { part: { type: "object" }, output_index: place }),
    demanded("response.content_part.done", { part: { type: "object" }, output_index: place }),
    demanded("response.output_text.delta", delta),
    demanded("response.refusal.delta", delta),
    demanded("response.function_call_arguments.delta", delta),
    demanded("response.custom_tool_call_input.delta", delta),
    demanded("response.reasoning_summary_text.delta", delta),
    demanded("response.completed", ended("completed")),
    demanded("response.incomplete", ended("incomplete")),
    demanded("response.failed", ended("failed")),
    demanded("error", { code: { type: ["string", "null"] }, message: text }),
  ],
} as const;
