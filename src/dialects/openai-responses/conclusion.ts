import type { FinishReason } from "../../canon/generate/event.ts";

/** How a finished answer stands in its resource. */
interface Conclusion {
  readonly status: "completed" | "incomplete";
  readonly incomplete_details: { readonly reason: string } | null;
}

const COMPLETED: Conclusion = { status: "completed", incomplete_details: null };

/**
 * Status and details for a finish reason (docs/protocols.md#finish-reasons). A refusal with a text of its own is a completed answer, one without it is a
 * filtered answer.
 *
 * @param refused whether the answer holds a refusal.
 */
export function conclusionOf(reason: FinishReason, refused: boolean): Conclusion {
  switch (reason) {
    case "stop":
    case "stop_sequence":
    case "tool_calls":
      return COMPLETED;
    case "refusal":
      return refused ? COMPLETED : incomplete("content_filter");
    case "content_filter":
      return incomplete("content_filter");
    case "length":
    case "context_window":
      return incomplete("max_output_tokens");
    case "pause":
    case "other":
      // They end native relays only; neither may ever read as a whole answer.
      return incomplete("other");
  }
}

function incomplete(reason: string): Conclusion {
  return { status: "incomplete", incomplete_details: { reason } };
}
