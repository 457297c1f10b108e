import { ANTHROPIC_ERROR } from "../document/error-schemas.ts";
import { demanded } from "./demanded.ts";

/** JSON Schema of the events of POST /api/v1/messages; tests validate real streams against it. */
const text = { type: "string" } as const;
const index = { type: "integer", minimum: 0 } as const;
const typed = { type: "object", required: ["type"], properties: { type: text } } as const;

export const MESSAGE_EVENT = {
  title: "MessageEvent",
  description:
    "Told apart by `type`, which is the event's name too. Types that are not described here are a provider's own, relayed as they came.",
  type: "object",
  required: ["type"],
  properties: { type: text },
  allOf: [
    demanded("message_start", {
      message: { type: "object", required: ["id", "role", "content"] },
    }),
    demanded("content_block_start", { index, content_block: typed }),
    demanded("content_block_delta", { index, delta: typed }),
    demanded("content_block_stop", { index }),
    demanded("message_delta", {
      delta: { type: "object", required: ["stop_reason"], properties: { stop_reason: { type: ["string", "null"] } } },
    }),
    {
      if: { required: ["type"], properties: { type: { const: "error" } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: ANTHROPIC_ERROR,
    },
  ],
} as const;
