import { type JsonObject, isJsonObject, parseJson } from "../json.ts";
import type { StreamEvent, FailureGrammar } from "../answer.ts";
import { CHUNK_FAILURE, FAILURE_MESSAGE } from "../openai/error.ts";
import { failedResource } from "./resource.ts";

/**
 * Streams fail with an event `error`, and then with `response.failed` where the response has begun.
 */
export const RESPONSES_FAILURE: FailureGrammar = {
  malformed: {
    name: "response.output_text.delta",
    data: '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":',
    purpose: "content",
  },
  body: (sequence) => CHUNK_FAILURE.body(sequence),
  errorFrame: (sent) => [errorEvent(sent.length), ...(failedEvents(sent, sent.length + 1) ?? [])],
  failed: {
    events: (sent) => failedEvents(sent, sent.length),
    body: (whole) => {
      const response: unknown = parseJson(whole);
      return JSON.stringify(isJsonObject(response) ? failedResource(response, []) : response);
    },
  },
};

function errorEvent(number: number): StreamEvent {
  const error = {
    type: "server_error",
    code: "server_error",
    message: FAILURE_MESSAGE,
    param: null,
  };
  return {
    name: "error",
    data: JSON.stringify({ type: "error", sequence_number: number, error }),
    purpose: "error",
  };
}

/** `null` before the response has begun, or after it has ended. */
function failedEvents(sent: readonly StreamEvent[], number: number): readonly StreamEvent[] | null {
  const data = sent.map((event): unknown => parseJson(event.data)).filter(isJsonObject);
  const response = data[0]?.response;
  if (!isJsonObject(response) || sent.at(-1)?.purpose === "end") return null;
  const failed = {
    type: "response.failed",
    sequence_number: number,
    response: failedResource(response, finished(data)),
  };
  return [{ name: "response.failed", data: JSON.stringify(failed), purpose: "done" }];
}

/** The items that were finished, in order. */
function finished(data: readonly JsonObject[]): readonly unknown[] {
  return data
    .filter((event) => event.type === "response.output_item.done")
    .map((event) => event.item);
}
