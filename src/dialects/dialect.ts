import type { Capability, Feature } from "../canon/capability.ts";
import type { RequestEdits } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField, EditSet } from "../canon/generate/edit.ts";
import type {
  Answer,
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenUsage,
} from "../canon/generate/event.ts";
import type { GenerateRequest } from "../canon/generate/generate-request.ts";
import type { JsonObject } from "../canon/json.ts";
import type { ModelOperation } from "../canon/operation.ts";
import type { InferenceRequest, ProtocolHeaders } from "../canon/request.ts";
import type { EndpointRow, ModelRow, ProviderRow, UnknownFields } from "../canon/table.ts";
import type {
  EmbedRequest,
  EmbedResult,
  ModerateRequest,
  ModerateResult,
  RerankRequest,
  RerankResult,
} from "../canon/unary.ts";
import type { EventStream } from "./contract-schemas.ts";
import type { SchemaRules } from "./fit-schema.ts";
import type { HeaderFacts, ProtocolFamily } from "./protocol-family.ts";
import type { AnswerBytes } from "./unary/answer-bytes.ts";

/** Headers of a request: names in lower case. */
type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Headers of requests that belong to a protocol. */
export interface SurfaceHeaders {
  readonly read: (headers: IncomingHeaders) => ProtocolHeaders;
  /** As the contract describes them. */
  readonly facts: readonly HeaderFacts[];
}

/** A surface as the contract shows it: JSON Schemas of requests and answers, and examples. */
interface SurfaceContract {
  /** Validates requests too. */
  readonly body: JsonObject;
  readonly answer: JsonObject;
  /** Requests by name, in the order to try them. */
  readonly examples: Readonly<Record<string, JsonObject>>;
  /** Absent where nothing streams. */
  readonly stream?: EventStream;
}

/** Reads request bodies before the decision. */
export interface RequestReader {
  /**
   * Wire protocol of the surface: endpoints of the same one get relayed requests, others translated
   * ones.
   */
  readonly dialect: string;
  /**
   * Reads a body that the surface's schema has accepted.
   *
   * @param bytes size of the body as it arrived; the context bucket is estimated from it.
   */
  readonly parse: (
    body: JsonObject,
    bytes: number,
    headers: ProtocolHeaders,
  ) => InferenceRequest | ServiceError;
  /** The 400 for members that the route refuses, or `null`. */
  readonly refuseUnknown: (body: JsonObject, unknownFields: UnknownFields) => ServiceError | null;
  /** Headers that belong to the protocol; absent where it has none. */
  readonly headers?: SurfaceHeaders;
  /** Prints errors and limit headers. */
  readonly family: ProtocolFamily;
  /** How the contract describes its endpoints. */
  readonly contract: SurfaceContract;
}

/**
 * A dialect as clients use it, for requests that generate.
 *
 * @example
 *   const request = chatSurface.parse(body, bytes.length, headers);
 *   if ("code" in request) return refuse(request); // the 400 for the client
 *   const { body: sent } = chatSurface.relay.edit(request, endpoint, provider, "reject", NO_EDITS);
 */
export interface Surface extends RequestReader {
  readonly kind: "generate";
  readonly relay: Relay;
  readonly translation: Translation;
}

/** A request edited by a relay, and the deliberate changes. */
export interface EditedRequest {
  readonly body: JsonObject;
  /** Registered names of removed members; recorded in the evidence. */
  readonly stripped: readonly string[];
  /** Other changes. */
  readonly edits: EditSet;
  /** Headers of the protocol besides those of every call: names and values by turns. */
  readonly headers: readonly string[];
  /** Fields dropped for the provider's rules and flags. */
  readonly dropped: readonly DroppedField[];
}

/** Outcome of an upstream answer. */
export interface Ending {
  /** `null`: the answer is whole. */
  readonly failure: UpstreamFailure | null;
  /** `null` where the upstream gave no reason. */
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
  readonly dropped: readonly DroppedField[];
  /** Other changes of the answer; default: none. */
  readonly edits?: EditSet;
}

/** The end of a stream, with the events that close it properly. */
export interface StreamEnd {
  readonly ending: Ending;
  readonly events: readonly Uint8Array[];
}

/**
 * Makes the client's stream from the provider's. A state machine: synchronous, without I/O, with
 * exactly one ending (docs/architecture.md#streams).
 *
 * @example
 *   const stream = surface.relay.observe(context);
 *   for await (const chunk of upstream) for (const event of stream.push(chunk)) send(event);
 *   const { ending, events } = stream.end();
 *   if (ending.failure === null) for (const event of events) send(event);
 *   else send(stream.fail(error)); // the client gets the failure of its own protocol
 */
export interface AnswerStream {
  /**
   * Takes bytes as they arrive; gives the whole events to send. An empty list means that the event
   * is not whole yet.
   */
  push(chunk: Uint8Array): readonly Uint8Array[];
  /**
   * Set at the first output: a character of text or reasoning, a call's name or arguments, a
   * citation, data, or the finish reason; not for pings, comments and bare beginnings. A provider
   * that fails before can be replaced, as long as no events have been sent. Output that the surface
   * cannot print counts too, so there may be nothing to send yet.
   */
  readonly hasOutput: boolean;
  /**
   * UTF-16 code units of output so far: text, reasoning, names and arguments of calls. The limits
   * of a stream that is cut, or that the provider did not count, are settled by it.
   */
  readonly outputCharacters: number;
  /** Set as soon as the stream has failed; nothing after that is sent. */
  readonly failure: UpstreamFailure | null;
  /** Set as soon as the upstream has ended the answer; later bytes are not part of it. */
  readonly hasEnded: boolean;
  /**
   * Call when the upstream's bytes have ended, or `hasEnded` is set. Returns the events that close
   * the stream properly.
   */
  endStream(): StreamEnd;
  /** Token counts so far, for an abandoned stream. */
  readonly usage: TokenUsage | null;
  /** Changes of the answer so far; default: none. */
  readonly edits?: EditSet;
  /**
   * The end of a stream that has begun and cannot be finished: the failure of its protocol, and
   * never a normal end (docs/protocols.md#how-a-stream-ends). It continues the events given so far,
   * so it is for a client that has received them. Last call.
   */
  fail(error: ServiceError): Uint8Array;
}

/**
 * A whole JSON answer as the client gets it, judged. `bytes` count where there is no failure, or
 * the failure is final and they are not empty.
 */
export interface WholeAnswer {
  readonly ending: Ending;
  readonly bytes: Uint8Array;
}

/** Context of an answer beside the upstream's bytes. */
export interface AnswerContext {
  readonly request: InferenceRequest;
  readonly requestId: string;
  /** Made of letters and digits; surfaces put their own prefix before it. */
  readonly answerId: string;
  /** Model name where the upstream sends none. */
  readonly model: string;
  /**
   * Family of models that can read the model's signatures; `null` where its row names none. Relays
   * tag signatures with it.
   */
  readonly signatureFamily: string | null;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** Reads the answers of one exchange. */
interface AnswerReading {
  readonly parseStream: () => EventParser;
  /** As {@link Upstream.parseAnswer}. */
  readonly parseAnswer: (bytes: Uint8Array) => readonly InferenceEvent[];
}

/**
 * Surface and endpoint speak the same dialect: the request is edited, the answer is relayed as it
 * is.
 */
export interface Relay {
  /** Path after the provider's base URL. */
  readonly path: (endpoint: EndpointRow) => string;
  readonly edit: (
    request: InferenceRequest,
    endpoint: EndpointRow,
    provider: ProviderRow,
    unknownFields: UnknownFields,
    edits: RequestEdits,
  ) => EditedRequest;
  readonly observe: (context: AnswerContext) => AnswerStream;
  /**
   * Judges a whole JSON answer; its bytes are sent unchanged unless the surface promises more than
   * providers send.
   */
  readonly readAnswer: (bytes: Uint8Array, context: AnswerContext) => WholeAnswer;
  /**
   * Reads answers to rewrite them, where the provider's flags require it; `null` where they are
   * relayed. Absent: all are relayed.
   */
  readonly reading?: (context: AnswerContext, target: Target) => AnswerReading | null;
}

/** A surface's body in canon, and the fields that canon cannot hold. */
export interface CanonicalRequest {
  readonly request: GenerateRequest;
  /**
   * Registered names of members that were taken out (identity, policy, unknown ones on a route that
   * strips them).
   */
  readonly stripped: readonly string[];
  /** Each once. */
  readonly dropped: readonly DroppedField[];
}

/** The surface's half of a translation. */
export interface Translation {
  /**
   * The canonical request. Every leaf of the body is read, recorded or refused by name; a route
   * cannot forward unknown members to another protocol, so they are refused.
   */
  readonly toCanon: (
    request: InferenceRequest,
    unknownFields: UnknownFields,
    edits: RequestEdits,
  ) => CanonicalRequest | ServiceError;
  /**
   * Finish reasons that no request of this surface can cause: an answer with one is a failure.
   * Default: none.
   */
  readonly impossibleEnds?: readonly FinishReason[];
  /**
   * Kinds of blocks that this surface omits. An answer with nothing else that ends properly is a
   * failure. Default: none.
   */
  readonly omittedBlocks?: readonly OpenBlock["kind"][];
  /**
   * The surface writes a call's arguments as an object: an answer with other arguments that ends
   * properly is a failure.
   */
  readonly parsesArguments?: boolean;
  readonly renderStream: (context: AnswerContext) => EventRenderer;
  readonly renderAnswer: (
    answer: Answer,
    context: AnswerContext,
  ) => { readonly body: JsonObject; readonly dropped: readonly DroppedField[] };
}

/**
 * Prints events in a surface's grammar.
 *
 * @example
 *   const renderer = surface.translation.renderStream(context);
 *   for (const event of parser.push(chunk)) for (const bytes of renderer.push(event)) send(bytes);
 */
export interface EventRenderer {
  /**
   * Server-sent events for the client because of one event. `finish` prints all that ends the
   * stream, `[DONE]` included where the surface has it. `failure` is never pushed: `fail` is called
   * instead.
   */
  push(event: InferenceEvent): readonly Uint8Array[];
  /** Every dropped field of the surface so far. */
  readonly dropped: ReadonlySet<DroppedField>;
  /** Ends a stream that cannot be finished. Last call; works before any event too. */
  fail(error: ServiceError): Uint8Array;
}

/** The endpoint of a request, with its model and provider. */
export interface Target {
  readonly endpoint: EndpointRow;
  readonly model: ModelRow;
  readonly provider: ProviderRow;
}

export interface FormattedRequest extends OutgoingRequest {
  readonly dropped: readonly DroppedField[];
  /** Name of a function as it is sent → the caller's; absent where all are the caller's. */
  readonly names?: ReadonlyMap<string, string>;
}

/** A finished request in a dialect, relayed or translated. */
export interface OutgoingRequest {
  /** Path after the provider's base URL. */
  readonly path: string;
  readonly body: JsonObject;
  /** Headers of the protocol besides those of every call: names and values by turns. */
  readonly headers: readonly string[];
}

/**
 * One request to a cloud that serves a protocol's models and wraps the protocol in its own: other
 * paths, members and framing around the same requests, answers and events. The wrapping is added
 * last and removed first, so relays and translations do not depend on it.
 */
export interface HostedRequest extends OutgoingRequest {
  /** Registered names of members that the cloud does not take; they stand in the evidence. */
  readonly stripped: readonly string[];
  /**
   * Content type of the cloud's streams, lower case, without parameters; default: the protocol's.
   */
  readonly streamType?: string;
  /** Removes the framing before `stream` reads the bytes; default: there is none. */
  readonly unwrapStream?: (stream: AnswerStream) => AnswerStream;
  /** A whole answer as the protocol's own provider gives it; default: the cloud's is the same. */
  readonly unwrapAnswer?: (bytes: Uint8Array) => Uint8Array;
  /** As `Upstream.readError`, for the cloud's errors; default: they are the protocol's. */
  readonly readError?: (status: number, bytes: Uint8Array) => UpstreamFailure;
}

/**
 * A dialect as a provider speaks it, for requests that came in another.
 *
 * @example
 *   const upstream = upstreamFor("generate", endpoint.dialect);
 *   const formatted = upstream.format(request, target);
 *   if ("code" in formatted) return formatted; // a 400: the protocol cannot carry the request
 *   const { status, bytes } = await post(formatted.path, formatted.body);
 *   const events = status === 200 ? upstream.parseAnswer(bytes, request, target) : [];
 */
export interface Upstream {
  /**
   * Prints a request whose features the endpoint has (`EndpointRow.features`). Returns a 400 that
   * names the setting, for values that only the printer can judge, such as one out of range.
   */
  readonly format: (request: GenerateRequest, target: Target) => FormattedRequest | ServiceError;
  /** @param answerId `AnswerContext.answerId`; makes unique ids for calls without one. */
  readonly parseStream: (
    request: GenerateRequest,
    target: Target,
    answerId?: string,
  ) => EventParser;
  /**
   * A whole JSON answer as the events that a stream of it would be; ends with `finish` or
   * `failure`. @param answerId as for `parseStream`.
   */
  readonly parseAnswer: (
    bytes: Uint8Array,
    request: GenerateRequest,
    target: Target,
    answerId?: string,
  ) => readonly InferenceEvent[];
  /** Reads an answer with an error status. None of the upstream's text is kept. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
  /**
   * Content type of the dialect's streams, lower case, without parameters; `text/event-stream`
   * where absent.
   */
  readonly streamType?: string;
  /**
   * Wraps a request by the provider's flags; `null` where the provider accepts the dialect
   * unchanged. Absent: all do.
   */
  readonly host?: (request: OutgoingRequest, target: Target) => HostedRequest | null;
}

/**
 * Parses an upstream's bytes, wherever they are cut, as events that keep the laws of
 * `InferenceEvent`.
 *
 * @example
 *   const parser = upstream.parseStream(request, target, answerId);
 *   const events = [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()];
 *   events.at(-1); // a `finish` or a `failure`
 */
export interface EventParser {
  /** Nothing follows a `finish` or a `failure`. */
  push(chunk: Uint8Array): readonly InferenceEvent[];
  /**
   * Call when the bytes have ended. Returns the terminal event if it is missing: a `failure`,
   * unless the dialect's end proves the answer whole.
   */
  endAnswer(): readonly InferenceEvent[];
}

/** Facts of a wire protocol that the compiler reads without loading its translator. */
export interface DialectFacts {
  readonly operations: readonly ModelOperation[];
  /** Capabilities that the protocol can carry; a model's others do not exist on its endpoints. */
  readonly expresses: readonly Capability[];
  /** The features that its requests can use (docs/protocols.md#what-a-protocol-carries). */
  readonly features: readonly Feature[];
  /** Features of some models only; a model row lists them under `accepts`. */
  readonly optional: readonly Feature[];
  /** Whether an effort may be sent as a budget of tokens where the model row has a table. */
  readonly supportsBudgets: boolean;
  /** Whether the protocol has beta flags. */
  readonly supportsBetas: boolean;
  /** Whether its models may sign reasoning, which then only their own family can read. */
  readonly signs: boolean;
  /** Named deviations that a provider row may declare. */
  readonly flags: Readonly<Record<string, FlagFacts>>;
  /** Whether providers may require `api_version` in the query of every call; default: no. */
  readonly supportsApiVersion?: boolean;
  /** Most inputs in one embeddings call; default: any number. An endpoint's row overrides it. */
  readonly maxBatch?: number;
  /** Whether every provider of the protocol refuses a request without an output limit. */
  readonly demandsOutputLimit: boolean;
  /** Requirements of its providers for requests that generate; absent for other protocols. */
  readonly requires?: RequestRules;
}

export interface FlagFacts {
  /** One line for docs/configuration.md. */
  readonly meaning: string;
  /** Members that requests to such a provider never have: the fix for a refusal that names one. */
  readonly omits?: readonly string[];
  /** Features of the dialect that such a provider lacks. */
  readonly withdraws?: readonly Feature[];
  /** Additional features of translated requests to such a provider. */
  readonly grants?: readonly Feature[];
  /** Operations that such a provider serves; default: all. */
  readonly leaves?: readonly ModelOperation[];
  /** As `DialectFacts.maxBatch`, where the deviation allows fewer. */
  readonly maxBatch?: number;
  /** The provider's row must have `api_version`. */
  readonly demandsApiVersion?: boolean;
  /** Flags of the same dialect that contradict this one; listed once for a pair. */
  readonly excludes?: readonly string[];
}

/**
 * Requirements of one wire protocol's providers for every request
 * (docs/translation.md#what-providers-require). One table a protocol, in its `facts.ts`, each row
 * with its source. Some rules are the same everywhere and have no row: results follow their calls,
 * ids of calls are unique, functions have an object schema, base64 has no white space.
 */
export interface RequestRules {
  /**
   * Names of functions. Every form takes up to 64 letters, digits and underscores that begin with
   * an underscore.
   */
  readonly toolName: RegExp;
  /** Ids of calls. Every form takes what `toolName` must take. */
  readonly callId: RegExp;
  /** Whether messages may name their author. */
  readonly supportsAuthorNames: boolean;
  /** Whether refusals of the history differ from text. */
  readonly supportsRefusals: boolean;
  /** Whether parts, results and tools may carry cache marks. */
  readonly supportsCacheMarks: boolean;
  /** Text that is refused; `null` where none is. */
  readonly refusedText: "empty" | "blank" | null;
  /** Whether unsigned reasoning of the history may be sent back. */
  readonly supportsUnsignedReasoning: (target: Target) => boolean;
  /** Whether a conversation must begin with the user. */
  readonly opensWithUser: boolean;
  /** Whether the beginning of an answer must not end in white space. */
  readonly trimsPrefill: boolean;
  /** Whether files of a tool's result must stand in a message of the user after it. */
  readonly resultFilesApart: boolean;
  readonly schemas: SchemaRules | null;
  /** Whether reasoning fixes temperature, `top_p` and `top_k`. */
  readonly reasoningFixesSampling: (target: Target) => boolean;
  /** Whether temperature and `top_p` exclude each other. */
  readonly temperatureExcludesTopP: boolean;
}

/** Facts of most protocols; a row overrides those that differ. */
export const PLAIN_FACTS = {
  expresses: [],
  optional: [],
  supportsBudgets: false,
  supportsBetas: false,
  signs: false,
  flags: {},
  demandsOutputLimit: false,
} as const satisfies Partial<DialectFacts>;

/** Request rules of a protocol whose providers take everything. */
export const PLAIN_RULES = {
  callId: /^[^]+$/,
  supportsAuthorNames: true,
  supportsRefusals: true,
  supportsCacheMarks: true,
  refusedText: null,
  supportsUnsignedReasoning: () => false,
  opensWithUser: false,
  trimsPrefill: false,
  resultFilesApart: false,
  schemas: null,
  reasoningFixesSampling: () => false,
  temperatureExcludesTopP: false,
} as const satisfies Partial<RequestRules>;

/** A finished request of an operation that does not generate. */
export type UnaryFormat = Pick<FormattedRequest, "path" | "body" | "dropped">;

export type UnaryResult = EmbedResult | RerankResult | ModerateResult;

/**
 * A dialect as a provider speaks it where one JSON answer follows one JSON request.
 *
 * @example
 *   const embedder = upstreamFor("embed", endpoint.dialect);
 *   const formatted = embedder.format({ inputs: ["A text."], ... }, target);
 *   const result = embedder.parseAnswer(new AnswerBytes([bytes]), request, target);
 *   if ("kind" in result) return retry(result); // an `UpstreamFailure`
 */
export interface UnaryUpstream<Request, Result extends UnaryResult> {
  /**
   * Prints a request whose features the endpoint has (`EndpointRow.features`). Returns a 400 that
   * names the setting, for values that only the printer can judge.
   */
  readonly format: (request: Request, target: Target) => UnaryFormat | ServiceError;
  /**
   * Reads and checks an answer with status 200. An incomplete answer is a failure, kind `malformed`
   * with a code of `answer-ends.ts`: nothing is filled in or reordered silently.
   */
  readonly parseAnswer: (
    answer: AnswerBytes,
    request: Request,
    target: Target,
  ) => Result | UpstreamFailure;
  /** Makes a failure of an answer with an error status. Nothing of the upstream's text is kept. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}

/**
 * How providers of a wire protocol are called, for each of the protocol's operations
 * (`DialectFacts.operations`).
 */
export interface Dialect extends Partial<Record<ModelOperation, unknown>> {
  readonly generate?: Upstream;
  readonly embed?: UnaryUpstream<EmbedRequest, EmbedResult>;
  readonly rerank?: UnaryUpstream<RerankRequest, RerankResult>;
  readonly moderate?: UnaryUpstream<ModerateRequest, ModerateResult>;
}

/**
 * A wire protocol's row: its facts, and its translator. Checking a configuration needs the facts
 * only, so it does not load translators.
 */
export interface DialectRow extends DialectFacts {
  readonly load: () => Promise<{ readonly dialect: Dialect }>;
}

/** Members of sampling. */
export const SAMPLING = [
  "sampling",
  "temperature_above_1",
  "penalties",
  "penalties_outside_0_1",
  "logit_bias",
  "seed",
] as const satisfies readonly Feature[];
/** Every effort of reasoning. */
export const EFFORTS = [
  "effort_none",
  "effort_minimal",
  "effort_low",
  "effort_medium",
  "effort_high",
  "effort_xhigh",
  "effort_max",
] as const satisfies readonly Feature[];
/** Every way to choose among tools. */
export const TOOL_CHOICES = [
  "tool_choice_required",
  "tool_choice_named",
  "tool_choice_allowed",
  "parallel_tool_calls_off",
  "one_tool_called_once",
  "tool_strict",
] as const satisfies readonly Feature[];
