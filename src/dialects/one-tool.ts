import type { InferenceEvent } from "../canon/generate/event.ts";
import type { Feature } from "../canon/generate/feature.ts";
import type { GenerateRequest } from "../canon/generate/generate-request.ts";
import type { JsonValue } from "../canon/json.ts";
import type { EndpointRow } from "../canon/table.ts";
import type { EventParser } from "./dialect.ts";

/** What a choice that names a tool of the request requires of an endpoint: where there is no other tool, it is the demand to call one. */
export function namedToolFeature(tools: JsonValue | undefined): Feature {
  return isOne(tools) ? "tool_choice_required" : "tool_choice_named";
}

/** What switching parallel calls off requires of an endpoint: with one tool, calls beyond the first can be left out of an answer. */
export function singleCallFeature(tools: JsonValue | undefined): Feature {
  return isOne(tools) ? "one_tool_called_once" : "parallel_tool_calls_off";
}

function isOne(tools: JsonValue | undefined): boolean {
  return Array.isArray(tools) && tools.length === 1;
}

/** A request in the values that an endpoint supports, and whether its answers may hold more calls than were requested. */
interface OneToolRequest {
  readonly request: GenerateRequest;
  readonly keepsFirstCall: boolean;
}

/** Replaces values that the endpoint does not have by values that mean the same with one tool. */
export function forOneTool(request: GenerateRequest, { features }: Pick<EndpointRow, "features">): OneToolRequest {
  const { tools, toolChoice, parallelToolCalls } = request;
  if (tools.length !== 1) return { request, keepsFirstCall: false };
  const keepsFirstCall = parallelToolCalls === false && !features.includes("parallel_tool_calls_off");
  const isUnnamed = toolChoice?.mode === "named" && !features.includes("tool_choice_named");
  if (!keepsFirstCall && !isUnnamed) return { request, keepsFirstCall };
  return {
    request: {
      ...request,
      ...(keepsFirstCall && { parallelToolCalls: null }),
      ...(isUnnamed && { toolChoice: { mode: "required" } }),
    },
    keepsFirstCall,
  };
}

/** Leaves out all calls but the first, and says so. */
class FirstCall {
  #first: number | null = null;
  /** Index of the block that is being left out. */
  #extra: number | null = null;
  #isTold = false;
  /** Blocks left out so far: the others are counted without them. */
  #left = 0;

  events(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    return events.flatMap((event) => this.#event(event));
  }

  #event(event: InferenceEvent): readonly InferenceEvent[] {
    if (!("index" in event)) return [event];
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (this.#first !== null) {
        this.#extra = event.index;
        this.#left += 1;
        if (this.#isTold) return [];
        this.#isTold = true;
        return [{ type: "dropped", field: "further_calls_dropped" }];
      }
      this.#first = event.index;
    }
    if (event.index === this.#extra) return [];
    return [this.#left === 0 ? event : { ...event, index: event.index - this.#left }];
  }
}

/** The events without calls beyond the first. */
export function firstCallOf(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
  return new FirstCall().events(events);
}

/** The same for a stream. */
export function keepingFirstCall(parser: EventParser): EventParser {
  const first = new FirstCall();
  return { push: (chunk) => first.events(parser.push(chunk)), end: () => first.events(parser.end()) };
}
