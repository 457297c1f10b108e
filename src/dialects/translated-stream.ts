import type { ServiceError } from "../canon/error.ts";
import { failureOf, type UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenLogprob,
  TokenUsage,
} from "../canon/generate/event.ts";
import type { GenerateRequest, Tool } from "../canon/generate/generate-request.ts";
import { isJsonObject } from "../canon/json.ts";
import type { EndpointRow } from "../canon/table.ts";
import type {
  AnswerStream,
  EventParser,
  EventRenderer,
  StreamEnd,
  Translation,
} from "./dialect.ts";
import { mergeUsage, parseJsonText } from "./json.ts";

/** Pipes one dialect's parser into another's renderer. */
export class TranslatedStream implements AnswerStream {
  readonly #parser: EventParser;
  readonly #renderer: EventRenderer;
  readonly #dropped = new Set<DroppedField>();
  #finish: FinishReason | null = null;
  usage: TokenUsage | null = null;
  failure: UpstreamFailure | null = null;
  hasOutput = false;
  outputCharacters = 0;
  hasEnded = false;

  constructor(parser: EventParser, renderer: EventRenderer) {
    this.#parser = parser;
    this.#renderer = renderer;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.hasEnded) return [];
    return this.#render(this.#parser.push(chunk));
  }

  endStream(): StreamEnd {
    const events =
      this.hasEnded || this.failure !== null ? [] : this.#render(this.#parser.endAnswer());
    if (!this.hasEnded) this.failure ??= failureOf("truncated");
    const { failure, usage } = this;
    const dropped = [...this.#dropped.union(this.#renderer.dropped)];
    return { ending: { failure, finish: this.#finish, usage, dropped }, events };
  }

  fail(error: ServiceError): Uint8Array {
    return this.#renderer.fail(error);
  }

  #render(events: readonly InferenceEvent[]): readonly Uint8Array[] {
    const printed: Uint8Array[] = [];
    for (const event of events) {
      if (event.type === "failure") {
        this.failure = event.failure;
        break;
      }
      if (event.type === "dropped") this.#dropped.add(event.field);
      if (event.type === "usage") this.usage = mergeUsage(this.usage, event.usage);
      for (const bytes of this.#renderer.push(event)) printed.push(bytes);
      this.hasOutput ||= isOutput(event);
      this.outputCharacters += charactersOf(event);
      if (event.type === "finish") {
        this.#finish = event.reason;
        this.hasEnded = true;
        break;
      }
    }
    return printed;
  }
}

/** An opened block is no output, except a call, which has its name from the beginning. */
function isOutput(event: InferenceEvent): boolean {
  const { type } = event;
  if (type === "open") return event.block.kind === "tool_call";
  const isWhole = type === "signature" || type === "citation" || type === "finish";
  return isWhole || charactersOf(event) > 0;
}

function charactersOf(event: InferenceEvent): number {
  if ("text" in event) return event.text.length;
  return event.type === "arguments" ? event.json.length : 0;
}

/** Rules of a surface for the ends of its answers. */
type EndRules = Pick<Translation, "impossibleEnds" | "omittedBlocks" | "parsesArguments">;

/** Ends that read as the end of a whole answer on every surface. */
const SUCCESSES: ReadonlySet<FinishReason> = new Set(["stop", "stop_sequence", "tool_calls"]);

/**
 * Changes the events of one answer; in batches that the parser makes, the last of which ends with
 * the answer's end.
 */
export type EventFilter = (events: readonly InferenceEvent[]) => readonly InferenceEvent[];

/** The parser's events after every filter, in order. */
export function filtered(parser: EventParser, filters: readonly EventFilter[]): EventParser {
  return {
    push: (chunk) => filteredEvents(parser.push(chunk), filters),
    endAnswer: () => filteredEvents(parser.endAnswer(), filters),
  };
}

export function filteredEvents(
  events: readonly InferenceEvent[],
  filters: readonly EventFilter[],
): readonly InferenceEvent[] {
  return filters.reduce((current, filter) => filter(current), events);
}

/** Replaces an end that the surface cannot have by a failure. */
export function endCheck({
  impossibleEnds = [],
  omittedBlocks = [],
  parsesArguments = false,
}: EndRules): EventFilter {
  // There was output that the surface prints, and output that it omits.
  let hasVisibleOutput = false;
  let hasHiddenOutput = false;
  /** Arguments of the latest call. */
  let json = "";
  let hasInvalidArguments = false;
  return (events) => {
    for (const event of events) {
      if (parsesArguments) {
        if (event.type === "open") json = event.block.kind === "tool_call" ? "" : "{}";
        else if (event.type === "arguments") json += event.json;
        else if (event.type === "close") hasInvalidArguments ||= !isJsonObject(parseJsonText(json));
      }
      const kind = outputKind(event);
      if (kind === null) continue;
      if (omittedBlocks.includes(kind)) hasHiddenOutput = true;
      else hasVisibleOutput = true;
    }
    const last = events.at(-1);
    if (last?.type !== "finish") return events;
    // An answer with all its output omitted is no success; the end of one that was cut short shows
    // it.
    const isSuccess = SUCCESSES.has(last.reason);
    const isImplausible =
      isSuccess && (hasInvalidArguments || (hasHiddenOutput && !hasVisibleOutput));
    if (!isImplausible && !impossibleEnds.includes(last.reason)) return events;
    const code = isSuccess && hasInvalidArguments ? "malformed_tool_use" : "unexpected_output_item";
    return [...events.slice(0, -1), { type: "failure", failure: failureOf("malformed", code) }];
  };
}

/** Block kind of an event with output; `null` for other events. */
function outputKind(event: InferenceEvent): OpenBlock["kind"] | null {
  if (event.type === "open") return event.block.kind === "tool_call" ? "tool_call" : null;
  if (event.type !== "text" && event.type !== "refusal" && event.type !== "reasoning") return null;
  return event.text === "" ? null : event.type;
}

/** Drops all calls but the first, and records it. */
export function firstCall(): EventFilter {
  let first: number | null = null;
  /** Index of the block that is being omitted. */
  let extra: number | null = null;
  /** Blocks omitted so far: the indices of the others do not count them. */
  let omitted = 0;
  const keep = (event: InferenceEvent): readonly InferenceEvent[] => {
    if (!("index" in event)) return [event];
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (first !== null) {
        extra = event.index;
        omitted += 1;
        return omitted > 1 ? [] : [{ type: "dropped", field: "further_calls_dropped" }];
      }
      first = event.index;
    }
    if (event.index === extra) return [];
    return [omitted === 0 ? event : { ...event, index: event.index - omitted }];
  };
  return (events) => events.flatMap(keep);
}

/**
 * Ends an answer at the first of some stop sequences in its text, as providers do: the sequence
 * itself is no part of it. Text that may be the beginning of one waits for what follows, also over
 * the pieces of a stream. Later events are not read, except counts in the same batch.
 *
 * @param stops none is empty.
 */
export function stopCut(stops: readonly string[]): EventFilter {
  /** Text of the open block that may begin a stop sequence, with its probabilities. */
  let heldText = "";
  let probabilities: readonly TokenLogprob[] = [];
  let hasEnded = false;
  /** Passes the first characters of the held text on. */
  const release = (index: number, length: number, output: InferenceEvent[]) => {
    if (length === 0) return;
    output.push({ type: "text", index, text: heldText.slice(0, length), logprobs: probabilities });
    heldText = heldText.slice(length);
    probabilities = [];
  };
  const readText = ({ index, text, logprobs }: TextEvent, output: InferenceEvent[]): void => {
    heldText += text;
    probabilities = [...probabilities, ...logprobs];
    const found = stops
      .map((stop) => ({ stop, at: heldText.indexOf(stop) }))
      .filter(({ at }) => at !== -1)
      .toSorted((one, other) => one.at - other.at)[0];
    if (found === undefined)
      return release(index, heldText.length - begun(heldText, stops), output);
    release(index, found.at, output);
    output.push(
      { type: "close", index },
      { type: "finish", reason: "stop_sequence", stopSequence: found.stop },
    );
    hasEnded = true;
  };
  return (events) => {
    const output: InferenceEvent[] = [];
    for (const [position, event] of events.entries()) {
      if (hasEnded) break;
      if (event.type === "text") readText(event, output);
      else {
        if (event.type === "close") release(event.index, heldText.length, output);
        output.push(event);
      }
      if (hasEnded)
        output.splice(-1, 0, ...events.slice(position + 1).filter(({ type }) => type === "usage"));
    }
    return output;
  };
}

/** Characters at the end of a text with which a stop sequence may begin. */
function begun(text: string, stops: readonly string[]): number {
  const most = Math.max(...stops.map((stop) => stop.length)) - 1;
  for (let length = Math.min(most, text.length); length > 0; length -= 1) {
    const end = text.slice(-length);
    if (stops.some((stop) => stop.startsWith(end))) return length;
  }
  return 0;
}

type TextEvent = Extract<InferenceEvent, { readonly type: "text" }>;

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
    unfold: () => unfolding(name),
  };
}

/**
 * Turns the tool call's arguments into the answer's text. An answer that is not exactly one
 * document fails: text that is no JSON object, text beside the call, or a second call of the tool.
 */
function unfolding(name: string): EventFilter {
  /** Index of the block that is the answer. */
  let answer: number | null = null;
  /** Text of a model that ignored the tool or wrote beside it; `null` for none. */
  let text: string | null = null;
  let hasOtherCalls = false;
  let hasFailed = false;
  const unfold = (event: InferenceEvent): InferenceEvent => {
    if (event.type === "text") text = (text ?? "") + event.text;
    if (event.type === "open" && event.block.kind === "text") text ??= "";
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (event.block.name !== name) {
        hasOtherCalls = true;
        return event;
      }
      if (answer !== null || text !== null) return NOT_ONE_DOCUMENT;
      answer = event.index;
      return { ...event, block: { kind: "text" } };
    }
    if (event.type === "arguments" && event.index === answer)
      return { type: "text", index: event.index, text: event.json, logprobs: [] };
    if (event.type !== "finish") return event;
    const { reason } = event;
    if (answer !== null && text !== null) return NOT_ONE_DOCUMENT;
    if (hasOtherCalls) return event;
    const isMissing = answer === null && (reason === "stop" || reason === "tool_calls");
    if (isMissing && !isJsonObject(parseJsonText(text ?? ""))) return NOT_ONE_DOCUMENT;
    return reason === "tool_calls" ? { ...event, reason: "stop" } : event;
  };
  return (events) => {
    const mapped: InferenceEvent[] = [];
    for (const event of events) {
      if (hasFailed) break;
      const one = unfold(event);
      hasFailed = one.type === "failure";
      mapped.push(one);
    }
    return mapped;
  };
}

const NOT_ONE_DOCUMENT: InferenceEvent = {
  type: "failure",
  failure: failureOf("malformed", "format_not_followed"),
};

function freeName(tools: readonly Tool[]): string {
  const used = new Set(tools.map((tool) => tool.name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? NAME : `${NAME}_${number}`;
    if (!used.has(name)) return name;
  }
}
