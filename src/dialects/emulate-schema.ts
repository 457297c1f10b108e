import type { InferenceEvent } from "../canon/generate/event.ts";
import type { GenerateRequest } from "../canon/generate/generate-request.ts";
import type { Tool } from "../canon/generate/message.ts";
import type { EndpointRow } from "../canon/table.ts";
import type { EventParser } from "./dialect.ts";

/** A request whose response schema became a forced tool, and the way back. */
export interface SchemaEmulation {
  readonly request: GenerateRequest;
  readonly wrap: (parser: EventParser) => EventParser;
  readonly map: (events: readonly InferenceEvent[]) => readonly InferenceEvent[];
}

const NAME = "json_response";

/**
 * Sends a response schema as a tool whose arguments are the answer (docs/protocols.md#schemas-as-tools). Where the request has tools of its own, the model
 * must call one of them or this one; otherwise it must call this one.
 */
export function emulateSchema(request: GenerateRequest, endpoint: Pick<EndpointRow, "features">): SchemaEmulation {
  const { format, tools } = request;
  if (format?.kind !== "json_schema") throw new Error("emulateSchema: a request without a response schema");
  const name = freeName(tools);
  const tool: Tool = {
    name,
    description: format.description ?? "Gives the final answer. Its arguments are the whole answer.",
    parameters: format.schema,
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
      parallelToolCalls: endpoint.features.includes("parallel_tool_calls_off") ? false : request.parallelToolCalls,
    },
    wrap: (parser) => {
      const unfold = new Unfolding(name);
      return {
        push: (chunk) => unfold.events(parser.push(chunk)),
        end: () => unfold.events(parser.end()),
      };
    },
    map: (events) => {
      const unfold = new Unfolding(name);
      return unfold.events(events);
    },
  };
}

/**
 * Makes the tool call's arguments the answer's text again. An answer that is not exactly one document is none: text beside it, or a second
 * call of the tool, makes the answer a failure instead of something that looks like JSON and is not.
 */
class Unfolding {
  readonly #name: string;
  /** Index of the block that is the answer. */
  #answer: number | null = null;
  #otherText = false;
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
    if (event.type === "open" && event.block.kind === "text") this.#otherText = true;
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (event.block.name !== this.#name) {
        this.#otherCalls = true;
        return event;
      }
      if (this.#answer !== null || this.#otherText) return BROKEN;
      this.#answer = event.index;
      return { ...event, block: { kind: "text" } };
    }
    if (event.type === "arguments" && event.index === this.#answer) {
      return { type: "text", index: event.index, text: event.json, logprobs: [] };
    }
    if (event.type === "finish" && this.#answer !== null && this.#otherText) return BROKEN;
    if (event.type === "finish" && event.reason === "tool_calls" && !this.#otherCalls) {
      return { ...event, reason: "stop" };
    }
    return event;
  }
}

const BROKEN: InferenceEvent = {
  type: "failure",
  failure: { kind: "malformed", status: null, retryAfter: null, code: null },
};

function freeName(tools: readonly Tool[]): string {
  const taken = new Set(tools.map((tool) => tool.name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? NAME : `${NAME}_${number}`;
    if (!taken.has(name)) return name;
  }
}
