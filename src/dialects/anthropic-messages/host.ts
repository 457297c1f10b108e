import type { ServiceError } from "../../canon/error.ts";
import { failureOf, type UpstreamFailure } from "../../canon/failure.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { base64ToText, textToBase64 } from "../../canon/json/text-base64.ts";
import { BETA_HEADER } from "../../canon/request.ts";
import { readMessagesError } from "./read-answer.ts";
import { COUNT_PATH } from "./request-facts.ts";
import { FrameReader, type Frame } from "../bedrock-converse/event-stream-frames.ts";
import { frameFailure, readConverseError } from "../bedrock-converse/read-answer.ts";
import type {
  AnswerStream,
  HostedRequest,
  OutgoingRequest,
  StreamEnd,
  Upstream,
} from "../dialect.ts";
import { readGeminiError } from "../gemini/read-answer.ts";
import {
  memberIn,
  numberOrNull,
  parseAnswerBytes,
  parseExactJsonText,
  printJsonBytes,
  textOf,
  type Members,
} from "../json.ts";
import { MAXIMUM_EVENT_BYTES, formatSseEvent } from "../sse.ts";

/**
 * Wraps a finished messages or count_tokens request for the cloud that serves the provider's
 * models; `null` where none does. The compiler allows at most one of the flags.
 */
export const hostMessages: NonNullable<Upstream["host"]> = (request, { endpoint, provider }) => {
  const { flags } = provider;
  if (flags.includes("bedrock_invoke")) return hostOnBedrock(request, endpoint.upstreamModel);
  return flags.includes("vertex_raw_predict")
    ? hostOnVertex(request, endpoint.upstreamModel)
    : null;
};

const BEDROCK_VERSION = "bedrock-2023-05-31";

/**
 * Amazon Bedrock's InvokeModel: the path has the model and the method, the body has version and
 * betas; streams are binary frames. Counting is an operation of its own around the same body.
 */
function hostOnBedrock(request: OutgoingRequest, upstreamModel: string): HostedRequest {
  const counts = request.path === COUNT_PATH;
  const { body, stripped } = hostedBody(request.body, BEDROCK_VERSION, ["model", "stream"]);
  const betas = betasIn(request);
  if (betas !== null) body.anthropic_beta = betas.split(",");
  const streams = request.body.stream === true;
  const operation = counts ? "count-tokens" : streams ? "invoke-with-response-stream" : "invoke";
  return {
    // ARNs have slashes and versions colons; neither is part of the path here.
    path: `/model/${encodeURIComponent(upstreamModel)}/${operation}`,
    body: counts ? countedBody(body) : body,
    headers: [],
    stripped,
    streamType: "application/vnd.amazon.eventstream",
    unwrapStream: (stream) => new InvokeStream(stream),
    unwrapAnswer: counts ? plainCount : plainAnswer,
    readError: readConverseError,
  };
}

/**
 * Bedrock counts a whole request and refuses one without an output limit, which counts of this
 * protocol lack. The limit adds no tokens; it must only exceed the thinking budget.
 */
function countedBody(body: JsonObject): JsonObject {
  const budget = numberOrNull(memberIn(body.thinking, "budget_tokens")) ?? 0;
  const limit = budget + 1;
  return {
    input: { invokeModel: { body: textToBase64(JSON.stringify({ ...body, max_tokens: limit })) } },
  };
}

/** A count in the protocol's members; the protocol's reader refuses any other answer. */
function plainCount(bytes: Uint8Array): Uint8Array {
  const count = numberOrNull(memberIn(parseAnswerBytes(bytes), "inputTokens"));
  return count === null ? bytes : printJsonBytes({ input_tokens: count });
}

const VERTEX_VERSION = "vertex-2023-10-16";

/** Counting has a path of its own instead of a model's name; the model is then a member. */
const COUNT_MODEL = "count-tokens";

/**
 * Google Vertex AI, whose base URL ends with the publisher (`…/publishers/anthropic`): the model is
 * in the path and the version in the body. Answers, streams and the header for betas are the
 * protocol's own.
 */
function hostOnVertex(request: OutgoingRequest, upstreamModel: string): HostedRequest {
  const counts = request.path === COUNT_PATH;
  const { body, stripped } = hostedBody(request.body, VERTEX_VERSION, counts ? [] : ["model"]);
  const method = body.stream === true ? "streamRawPredict" : "rawPredict";
  // Versions of models follow an @, which Google's own clients do not encode.
  const model = encodeURIComponent(upstreamModel).replaceAll("%40", "@");
  const betas = betasIn(request);
  return {
    path: `/models/${counts ? COUNT_MODEL : model}:${method}`,
    body,
    headers: betas === null ? [] : [BETA_HEADER, betas],
    stripped,
    readError: readVertexError,
  };
}

/**
 * Errors of the model's server have the protocol's shape, those of the cloud before it Google's.
 */
function readVertexError(status: number, bytes: Uint8Array): UpstreamFailure {
  const failure = readMessagesError(status, bytes);
  return failure.code === null ? readGeminiError(status, bytes) : failure;
}

/** Hints that only the protocol's own provider takes; clouds refuse requests that have them. */
const DIRECT_HINTS = ["service_tier", "speed", "diagnostics"];

/**
 * Only the router sets these members. Otherwise callers could turn on beta features that the
 * provider's row does not list, on a route that forwards unknown members.
 */
const ROUTER_MEMBERS = ["anthropic_version", "anthropic_beta"];

/**
 * The members of a request that a cloud accepts, with the cloud's name of the version, and the
 * registered names of those that were taken out.
 *
 * @param elsewhere members that the cloud has elsewhere, such as in the path.
 */
function hostedBody(body: JsonObject, version: string, elsewhere: readonly string[]) {
  // Without a prototype, so that a member `__proto__` is sent as a member.
  const members: Members = Object.create(null);
  const stripped: string[] = [];
  for (const name in body) {
    if (body[name] === undefined) continue;
    if (DIRECT_HINTS.includes(name)) stripped.push(name);
    else if (ROUTER_MEMBERS.includes(name)) stripped.push("unknown_field");
    else if (!elsewhere.includes(name)) members[name] = body[name];
  }
  members.anthropic_version = version;
  return { body: members, stripped };
}

/** The value of the header of beta flags; `null` where it is absent. */
function betasIn({ headers }: OutgoingRequest): string | null {
  const index = headers.indexOf(BETA_HEADER);
  return index === -1 ? null : (headers[index + 1] ?? null);
}

/**
 * Prefix of the members that the cloud adds to answers and events: measurements, and actions of its
 * guardrails.
 */
const PREFIX = "amazon-bedrock-";

/** Reports that a guardrail has replaced the model's text, or the prompt. */
const ACTION = `${PREFIX}guardrailAction`;
const INTERVENED = "INTERVENED";

/** The protocol's stop reason for a withheld answer. */
const WITHHELD = "refusal";

/**
 * Whether a JSON text may have members of the cloud; most texts have none and need not be parsed.
 */
function mayHaveMarks(text: string) {
  return text.includes(`"${PREFIX}`);
}

/**
 * An object without the cloud's members, and whether they report an intervention of a guardrail.
 */
function withoutMarks(marked: JsonObject) {
  // Without a prototype, as in every copy of members that come from outside.
  const plain: Members = Object.create(null);
  for (const name in marked) if (!name.startsWith(PREFIX)) plain[name] = marked[name];
  return { plain, intervened: marked[ACTION] === INTERVENED };
}

/** With the stop reason of withheld answers: an intervention must not look like a normal end. */
function asWithheld(object: JsonObject): JsonObject {
  return { ...object, stop_reason: WITHHELD };
}

const decoder = new TextDecoder();

/** A whole answer without the cloud's members: the bytes themselves where there are none. */
function plainAnswer(bytes: Uint8Array): Uint8Array {
  const text = decoder.decode(bytes);
  const answer = mayHaveMarks(text) ? parseExactJsonText(text) : undefined;
  if (!isJsonObject(answer) || !Object.keys(answer).some((name) => name.startsWith(PREFIX)))
    return bytes;
  const { plain, intervened } = withoutMarks(answer);
  return printJsonBytes(intervened ? asWithheld(plain) : plain);
}

/** The common event: one line of JSON that begins with the event's name. */
const PLAIN_EVENT = /^\{"type":"([a-z_]+)"[^\r\n]*$/;

/** Names that can be written in the field `event`, which ends with its line. */
const EVENT_NAME = /^[\w.-]+$/;

/**
 * Unwraps the frames of Bedrock's InvokeModelWithResponseStream. Each holds one event of the
 * messages protocol, which the inner stream gets as a server-sent event. Broken frames and
 * exceptions fail here; the inner stream judges the events.
 */
class InvokeStream implements AnswerStream {
  readonly #inner: AnswerStream;
  readonly #frames = new FrameReader(MAXIMUM_EVENT_BYTES);
  /**
   * The event with the stop reason. It waits for the next one, which may report an intervention.
   */
  #ending: JsonObject | null = null;
  #intervened = false;
  #failure: UpstreamFailure | null = null;

  constructor(inner: AnswerStream) {
    this.#inner = inner;
  }

  get failure(): UpstreamFailure | null {
    return this.#failure ?? this.#inner.failure;
  }

  get hasOutput(): boolean {
    return this.#inner.hasOutput;
  }

  get outputCharacters(): number {
    return this.#inner.outputCharacters;
  }

  get hasEnded(): boolean {
    return this.#inner.hasEnded;
  }

  get usage(): TokenUsage | null {
    return this.#inner.usage;
  }

  get #isOver(): boolean {
    return this.failure !== null || this.hasEnded;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    const events: Uint8Array[] = [];
    for (const frame of this.#frames.push(chunk)) if (!this.#isOver) this.#readFrame(frame, events);
    const { fault } = this.#frames;
    if (fault !== null && !this.#isOver) this.#fail(failureOf(fault), events);
    return events;
  }

  endStream(): StreamEnd {
    const forwarded: Uint8Array[] = [];
    this.#forwardEnding(forwarded);
    const { ending, events } = this.#inner.endStream();
    if (this.#failure !== null)
      return { ending: { ...ending, failure: this.#failure }, events: [] };
    return { ending, events: [...forwarded, ...events] };
  }

  fail(error: ServiceError): Uint8Array {
    return this.#inner.fail(error);
  }

  #readFrame({ headers, payload }: Frame, events: Uint8Array[]): void {
    const body = parseAnswerBytes(payload);
    const failure = frameFailure(headers, body);
    if (failure !== null) return this.#fail(failure, events);
    // Other events are not part of the answer.
    if (headers.get(":event-type") !== "chunk") return;
    const bytes = memberIn(body, "bytes");
    const text = typeof bytes === "string" ? base64ToText(bytes) : null;
    if (text === null) return this.#fail(failureOf("malformed"), events);
    this.#readEvent(text, events);
  }

  /** Gives one event of the protocol to the inner stream. */
  #readEvent(text: string, events: Uint8Array[]): void {
    const name = mayHaveMarks(text) ? undefined : PLAIN_EVENT.exec(text)?.[1];
    if (name !== undefined && name !== "message_delta") {
      this.#forwardEnding(events);
      return this.#forward(text, name, events);
    }
    const event = parseExactJsonText(text);
    if (!isJsonObject(event)) return this.#fail(failureOf("malformed"), events);
    const { plain, intervened } = withoutMarks(event);
    this.#intervened ||= intervened;
    this.#forwardEnding(events);
    if (textOf(plain.type) === "message_delta") this.#ending = plain;
    else this.#forwardObject(plain, events);
  }

  /** Passes the waiting event on. */
  #forwardEnding(events: Uint8Array[]) {
    const ending = this.#ending;
    if (ending === null) return;
    this.#ending = null;
    const { delta } = ending;
    const withheld =
      this.#intervened && isJsonObject(delta) && typeof delta.stop_reason === "string";
    this.#forwardObject(withheld ? { ...ending, delta: asWithheld(delta) } : ending, events);
  }

  #forwardObject(event: JsonObject, events: Uint8Array[]) {
    const name = textOf(event.type);
    this.#forward(JSON.stringify(event), EVENT_NAME.test(name) ? name : null, events);
  }

  #forward(data: string, name: string | null, events: Uint8Array[]) {
    for (const event of this.#inner.push(formatSseEvent(data, name))) events.push(event);
  }

  /** A stop reason that has arrived is still passed on, though the answer is not whole. */
  #fail(failure: UpstreamFailure, events: Uint8Array[]) {
    this.#forwardEnding(events);
    this.#failure = this.#inner.failure ?? failure;
  }
}
