import type { InferenceEvent } from "../canon/generate/event.ts";
import type { GenerateRequest, Tool } from "../canon/generate/generate-request.ts";
import type { EndpointRow } from "../canon/table.ts";
import { isJsonObject } from "../canon/json.ts";
import { answerFailure } from "./answer-failure.ts";
import { parseJsonText } from "./json.ts";
import type { EventFilter } from "./translated-stream.ts";

/** A request whose response format became a forced tool, and the way back. */
export interface FormatEmulation {
  readonly request: GenerateRequest;
  /** Makes the call text again, for one answer. */
  readonly unfold: () => EventFilter;
}

const NAME = "json_response";

/**
 * Of an answer in JSON without a schema: without a sentence, models call the tool without
 * arguments.
 */
const ANY_OBJECT = {
  description:
    "Gives the final answer as one JSON object. The members of the object are the arguments of this call.",
  schema: { type: "object", properties: {}, additionalProperties: true },
};

/**
 * Sends a response format as a tool whose arguments are the answer
 * (docs/protocols.md#schemas-as-tools). Where the request has tools of its own, the model must call
 * one of them or this one; otherwise it must call this one.
 */
export function emulateFormat(
  request: GenerateRequest,
  endpoint: Pick<EndpointRow, "features">,
): FormatEmulation {
  const { format, tools } = request;
  if (format === null) throw new Error("emulateFormat: a request without a response format");
  const { description, schema } = format.kind === "json_object" ? ANY_OBJECT : format;
  const name = freeName(tools);
  const tool: Tool = {
    name,
    description: description ?? "Gives the final answer. Its arguments are the whole answer.",
    parameters: schema,
    strict: null,
    cache: null,
  };
  return {
    request: {
      ...request,
      format: null,
      tools: [...tools, tool],
      toolChoice: tools.length === 0 ? { mode: "named", name } : { mode: "required" },
      // One call is one answer; a second would be a second answer.
      parallelToolCalls: endpoint.features.includes("parallel_tool_calls_off")
        ? false
        : request.parallelToolCalls,
    },
    unfold: () => new Unfolding(name),
  };
}

/**
 * Makes the tool call's arguments the answer's text again. An answer that is not exactly one
 * document is none: text that is no JSON object, text beside the call, or a second call of the
 * tool, makes the answer a failure instead of something that looks like JSON and is not.
 */
class Unfolding implements EventFilter {
  readonly #name: string;
  /** Index of the block that is the answer. */
  #answer: number | null = null;
  /** Text of the model's own, which ignored the tool or wrote beside it; `null` for none. */
  #text: string | null = null;
  #otherCalls = false;
  #failed = false;

  constructor(name: string) {
    this.#name = name;
  }

  events(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    const mapped: InferenceEvent[] = [];
    for (const event of events) {
      if (this.#failed) break;
      const one = this.#event(event);
      this.#failed = one.type === "failure";
      mapped.push(one);
    }
    return mapped;
  }

  #event(event: InferenceEvent): InferenceEvent {
    if (event.type === "text") this.#text = (this.#text ?? "") + event.text;
    if (event.type === "open" && event.block.kind === "text") this.#text ??= "";
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (event.block.name !== this.#name) {
        this.#otherCalls = true;
        return event;
      }
      if (this.#answer !== null || this.#text !== null) return NOT_ONE_DOCUMENT;
      this.#answer = event.index;
      return { ...event, block: { kind: "text" } };
    }
    if (event.type === "arguments" && event.index === this.#answer) {
      return { type: "text", index: event.index, text: event.json, logprobs: [] };
    }
    return event.type === "finish" ? this.#finish(event) : event;
  }

  #finish(event: Extract<InferenceEvent, { readonly type: "finish" }>): InferenceEvent {
    const { reason } = event;
    if (this.#answer !== null && this.#text !== null) return NOT_ONE_DOCUMENT;
    if (this.#otherCalls) return event;
    const isMissing = this.#answer === null && (reason === "stop" || reason === "tool_calls");
    if (isMissing && !isJsonObject(parseJsonText(this.#text ?? ""))) return NOT_ONE_DOCUMENT;
    return reason === "tool_calls" ? { ...event, reason: "stop" } : event;
  }
}

const NOT_ONE_DOCUMENT: InferenceEvent = {
  type: "failure",
  failure: answerFailure("malformed", "format_not_followed"),
};

function freeName(tools: readonly Tool[]): string {
  const taken = new Set(tools.map((tool) => tool.name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? NAME : `${NAME}_${number}`;
    if (!taken.has(name)) return name;
  }
}
