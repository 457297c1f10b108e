import type { ServiceError } from "../canon/error.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  FinishReason,
  InferenceEvent,
  TokenLogprob,
  TokenUsage,
} from "../canon/generate/event.ts";
import type { GenerateRequest, Tool } from "../canon/generate/generate-request.ts";
import { isJsonObject } from "../canon/json.ts";
import type { EndpointRow } from "../canon/table.ts";
import { answerFailure } from "./answer-ends.ts";
import type { AnswerStream, Ending, EventParser, EventRenderer, Translation } from "./dialect.ts";
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
  done = false;

  constructor(parser: EventParser, renderer: EventRenderer) {
    this.#parser = parser;
    this.#renderer = renderer;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return [];
    return this.#render(this.#parser.push(chunk));
  }

  endStream(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const events = this.done || this.failure !== null ? [] : this.#render(this.#parser.endAnswer());
    if (!this.done)
      this.failure ??= { kind: "truncated", status: null, retryAfter: null, code: null };
    for (const field of this.#renderer.dropped) this.#dropped.add(field);
    const ending = {
      failure: this.failure,
      finish: this.#finish,
      usage: this.usage,
      dropped: [...this.#dropped],
    };
    return { ending, events };
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
        this.done = true;
        break;
      }
    }
    return printed;
  }
}

/** An opened block is no output, except a call, which has its name from the beginning. */
function isOutput(event: InferenceEvent): boolean {
  switch (event.type) {
    case "open":
      return event.block.kind === "tool_call";
    case "text":
    case "refusal":
    case "reasoning":
      return event.text !== "";
    case "arguments":
      return event.json !== "";
    case "signature":
    case "citation":
    case "finish":
      return true;
    case "start":
    case "close":
    case "usage":
    case "dropped":
    case "failure":
      return false;
  }
}

function charactersOf(event: InferenceEvent): number {
  if (event.type === "text" || event.type === "refusal" || event.type === "reasoning")
    return event.text.length;
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
export interface EventFilter {
  events(events: readonly InferenceEvent[]): readonly InferenceEvent[];
}

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
  let passed = events;
  for (const filter of filters) passed = filter.events(passed);
  return passed;
}

/** Replaces an end that the surface cannot have by a failure. */
export class EndCheck implements EventFilter {
  readonly #rules: EndRules;
  /** There was output that the surface prints. */
  #hasPrinted = false;
  /** There was output that the surface omits. */
  #dropped = false;
  /** Arguments of the latest call, where the surface parses them. */
  #arguments = "";
  #broken = false;

  constructor(rules: EndRules) {
    this.#rules = rules;
  }

  events(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    for (const event of events) this.#observe(event);
    const last = events.at(-1);
    if (last?.type !== "finish") return events;
    const { impossibleEnds = [] } = this.#rules;
    // An answer with all its output omitted is no success; the end of one that was cut short shows
    // it.
    const isNothingLeft = this.#dropped && !this.#hasPrinted && SUCCESSES.has(last.reason);
    const isBroken = this.#broken && SUCCESSES.has(last.reason);
    if (!impossibleEnds.includes(last.reason) && !isNothingLeft && !isBroken) return events;
    const code = isBroken ? "malformed_tool_use" : "unexpected_output_item";
    return [...events.slice(0, -1), { type: "failure", failure: answerFailure("malformed", code) }];
  }

  #observe(event: InferenceEvent): void {
    if (this.#rules.parsesArguments === true) this.#checkArguments(event);
    const kind = outputKind(event);
    if (kind === null) return;
    if (this.#rules.omittedBlocks?.includes(kind) === true) this.#dropped = true;
    else this.#hasPrinted = true;
  }

  #checkArguments(event: InferenceEvent): void {
    if (event.type === "open") this.#arguments = event.block.kind === "tool_call" ? "" : "{}";
    else if (event.type === "arguments") this.#arguments += event.json;
    else if (event.type === "close") this.#broken ||= !isJsonObject(parseJsonText(this.#arguments));
  }
}

/** Block kind of an event with output; `null` for other events. */
function outputKind(event: InferenceEvent): "text" | "refusal" | "reasoning" | "tool_call" | null {
  if (event.type === "open") return event.block.kind === "tool_call" ? "tool_call" : null;
  if (event.type !== "text" && event.type !== "refusal" && event.type !== "reasoning") return null;
  return event.text === "" ? null : event.type;
}

/** Drops all calls but the first, and records it. */
export class FirstCall implements EventFilter {
  #first: number | null = null;
  /** Index of the block that is being omitted. */
  #extra: number | null = null;
  #isReported = false;
  /** Blocks omitted so far: the indices of the others do not count them. */
  #omitted = 0;

  events(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    return events.flatMap((event) => this.#event(event));
  }

  #event(event: InferenceEvent): readonly InferenceEvent[] {
    if (!("index" in event)) return [event];
    if (event.type === "open" && event.block.kind === "tool_call") {
      if (this.#first !== null) {
        this.#extra = event.index;
        this.#omitted += 1;
        if (this.#isReported) return [];
        this.#isReported = true;
        return [{ type: "dropped", field: "further_calls_dropped" }];
      }
      this.#first = event.index;
    }
    if (event.index === this.#extra) return [];
    return [this.#omitted === 0 ? event : { ...event, index: event.index - this.#omitted }];
  }
}

/**
 * Ends an answer at the first of some stop sequences in its text, as providers do: the sequence
 * itself is no part of it. Text that may be the beginning of one waits for what follows, also over
 * the pieces of a stream. Later events are not read, except counts in the same batch.
 */
export class StopCut implements EventFilter {
  readonly #stops: readonly string[];
  /** Text of the open block that may begin a stop sequence, with its probabilities. */
  #held = "";
  #logprobs: readonly TokenLogprob[] = [];
  #ended = false;

  /** @param stops none is empty. */
  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  events(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    const passed: InferenceEvent[] = [];
    for (const [position, event] of events.entries()) {
      if (this.#ended) break;
      if (event.type === "text") this.#text(event, passed);
      else {
        if (event.type === "close") this.#releaseText(event.index, this.#held.length, passed);
        passed.push(event);
      }
      if (this.#ended)
        passed.splice(-1, 0, ...events.slice(position + 1).filter(({ type }) => type === "usage"));
    }
    return passed;
  }

  #text({ index, text, logprobs }: TextEvent, passed: InferenceEvent[]): void {
    this.#held += text;
    this.#logprobs = [...this.#logprobs, ...logprobs];
    const found = this.#stops
      .map((stop) => ({ stop, at: this.#held.indexOf(stop) }))
      .filter(({ at }) => at !== -1)
      .toSorted((one, other) => one.at - other.at)[0];
    if (found === undefined) {
      this.#releaseText(index, this.#held.length - this.#possibleBeginning(), passed);
      return;
    }
    this.#releaseText(index, found.at, passed);
    passed.push(
      { type: "close", index },
      { type: "finish", reason: "stop_sequence", stopSequence: found.stop },
    );
    this.#ended = true;
  }

  /** Characters at the end of the text with which a stop sequence may begin. */
  #possibleBeginning(): number {
    const most = Math.max(...this.#stops.map((stop) => stop.length)) - 1;
    for (let length = Math.min(most, this.#held.length); length > 0; length -= 1) {
      const end = this.#held.slice(-length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }

  /** Passes the first `length` characters on. */
  #releaseText(index: number, length: number, passed: InferenceEvent[]): void {
    if (length === 0) return;
    passed.push({
      type: "text",
      index,
      text: this.#held.slice(0, length),
      logprobs: this.#logprobs,
    });
    this.#held = this.#held.slice(length);
    this.#logprobs = [];
  }
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
    unfold: () => new Unfolding(name),
  };
}

/**
 * Turns the tool call's arguments into the answer's text. An answer that is not exactly one
 * document fails: text that is no JSON object, text beside the call, or a second call of the tool.
 */
class Unfolding implements EventFilter {
  readonly #name: string;
  /** Index of the block that is the answer. */
  #answer: number | null = null;
  /** Text of a model that ignored the tool or wrote beside it; `null` for none. */
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
  const used = new Set(tools.map((tool) => tool.name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? NAME : `${NAME}_${number}`;
    if (!used.has(name)) return name;
  }
}
