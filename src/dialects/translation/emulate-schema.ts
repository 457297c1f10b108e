import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import type { Tool } from "../../canon/generate/message.ts";
import type { EventParser } from "../dialect.ts";

/** A request whose response schema became a forced tool, and the way back. */
export interface SchemaEmulation {
  readonly request: GenerateRequest;
  readonly wrap: (parser: EventParser) => EventParser;
  readonly map: (events: readonly InferenceEvent[]) => readonly InferenceEvent[];
}

const NAME = "json_response";

/**
 * Asks for a response schema as a tool whose arguments are the answer (protocols.md §5). Where the request has tools of its own, the model
 * must call one of them or answer; otherwise it must answer.
 */
export function emulateSchema(request: GenerateRequest): SchemaEmulation {
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
    },
    wrap: (parser) => {
      const unfold = new Unfolding(name);
      return {
        push: (chunk) => parser.push(chunk).map((event) => unfold.event(event)),
        end: () => parser.end().map((event) => unfold.event(event)),
      };
    },
    map: (events) => {
      const unfold = new Unfolding(name);
      return events.map((event) => unfold.event(event));
    },
  };
}

/** Makes the tool call's arguments the answer's text again. */
class Unfolding {
  readonly #name: string;
  /** Index of the block that is the answer. */
  readonly #answers = new Set<number>();
  #otherCalls = false;

  constructor(name: string) {
    this.#name = name;
  }

  event(event: InferenceEvent): InferenceEvent {
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (event.block.name !== this.#name) {
        this.#otherCalls = true;
        return event;
      }
      this.#answers.add(event.index);
      return { ...event, block: { kind: "text" } };
    }
    if (event.type === "arguments" && this.#answers.has(event.index)) {
      return { type: "text", index: event.index, text: event.json, logprobs: [] };
    }
    if (event.type === "finish" && event.reason === "tool_calls" && !this.#otherCalls) {
      return { ...event, reason: "stop" };
    }
    return event;
  }
}

function freeName(tools: readonly Tool[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? NAME : `${NAME}_${number}`;
    if (!tools.some((tool) => tool.name === name)) return name;
  }
}
