import type { RequestEdits } from "../canon/decision.ts";
import { failureOf, type UpstreamFailure } from "../canon/failure.ts";
import { editSet, type DroppedField, type EditSet } from "../canon/generate/edit.ts";
import type { InferenceEvent } from "../canon/generate/event.ts";
import type { ModelOperation } from "../canon/operation.ts";
import { BETA_HEADER, type InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import { collectAnswer, failedAnswer } from "./answer-events.ts";
import type {
  AnswerContext,
  AnswerStream,
  Dialect,
  EventParser,
  HostedRequest,
  OutgoingRequest,
  StreamEnd,
  Surface,
  Target,
  Upstream,
  WholeAnswer,
} from "./dialect.ts";
import { callersNames } from "./fit-request.ts";
import { printJsonBytes } from "./json.ts";
import { failedWhole } from "./relay.ts";
import { DIALECTS } from "./table.ts";
import type { PreparedTranslation } from "./translate-request.ts";
import {
  TranslatedStream,
  endCheck,
  filtered,
  filteredEvents,
  firstCall,
  stopCut,
  type EventFilter,
} from "./translated-stream.ts";

/**
 * The exchange of one request with one endpoint: the request to send, and how its answer becomes
 * the client's. Callers do not see whether it is relayed or translated.
 */
export interface ExchangePlan {
  /** Path after the provider's base URL. */
  readonly path: string;
  /** Headers of the protocol besides those of every call: names and values by turns. */
  readonly headers: readonly string[];
  /** Prints the body. Lazy, because most candidates are never called. */
  readonly body: () => string;
  readonly translated: boolean;
  readonly stripped: readonly string[];
  /** Other changes. */
  readonly edits: EditSet;
  /** Dropped fields of the request; those of the answer come with its ending. */
  readonly dropped: readonly DroppedField[];
  /**
   * Whether a whole stream ends with counts of tokens: its protocol always sends them, or they were
   * requested.
   */
  readonly expectsUsage: boolean;
  /** Content type of the upstream's streams, lower case, without parameters. */
  readonly streamType: string;
  readonly stream: () => AnswerStream;
  readonly answer: (bytes: Uint8Array) => WholeAnswer;
  /**
   * The stream that a whole answer is, from a provider that does not stream: all of it comes with
   * its end.
   */
  readonly streamOfAnswer: (bytes: Uint8Array) => AnswerStream;
  /** Makes a failure of an answer with an error status. Nothing of the upstream's text is kept. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}

interface ExchangeOptions {
  readonly surface: Surface;
  readonly request: InferenceRequest;
  /**
   * `null` where the request is relayed: the endpoint speaks the surface's dialect and has the
   * response format.
   */
  readonly prepared: PreparedTranslation | null;
  readonly route: RouteRow;
  readonly edits: RequestEdits;
  readonly context: AnswerContext;
}

/**
 * Prepares the exchange with an endpoint: translates where the request was prepared for that, and
 * relays otherwise (docs/architecture.md#translation).
 *
 * @param upstream the endpoint's dialect.
 * @example
 *   const plan = planExchange(options, target, upstreamFor("generate", endpoint.dialect));
 *   const answer = readableAnswer(plan, await call(plan.path, plan.body()));
 */
export function planExchange(
  options: ExchangeOptions,
  target: Target,
  upstream: Upstream,
): ExchangePlan {
  const { prepared } = options;
  const { unsent } = options.request.headers;
  const open =
    prepared === null
      ? relayed(options, target, upstream)
      : translated(options, prepared, target, upstream);
  const plan = hosted(open, target, upstream);
  return unsent === undefined ? plan : { ...plan, stripped: [...plan.stripped, ...unsent] };
}

function asIs<Value>(value: Value) {
  return value;
}

/** A plan without the wrapping of a cloud. */
type UnhostedPlan = OutgoingRequest &
  Omit<ExchangePlan, "body" | "expectsUsage" | "streamType" | "readError">;

/** Adds the wrapping that the provider's flags or its version of the interface require. */
function hosted(open: UnhostedPlan, target: Target, upstream: Upstream): ExchangePlan {
  const { flags, apiVersion } = target.provider;
  const host =
    flags.length === 0 && apiVersion === null ? null : (upstream.host?.(open, target) ?? null);
  const { path, headers, body } = host ?? open;
  const hosting: Partial<HostedRequest> = host ?? {};
  const { stripped = [], unwrapStream = asIs, unwrapAnswer = asIs } = hosting;
  const { streamType = upstream.streamType ?? EVENT_STREAM, readError = upstream.readError } =
    hosting;
  // Member by member: V8 allocates the literal at once, and builds a spread step by step.
  return {
    path,
    headers,
    body: () => JSON.stringify(body),
    translated: open.translated,
    stripped: stripped.length === 0 ? open.stripped : [...open.stripped, ...stripped],
    edits: open.edits,
    dropped: open.dropped,
    expectsUsage: !flags.includes("no_stream_options"),
    streamType,
    stream: () => unwrapStream(open.stream()),
    answer: (bytes) => open.answer(unwrapAnswer(bytes)),
    streamOfAnswer: (bytes) => open.streamOfAnswer(unwrapAnswer(bytes)),
    readError,
  };
}

function relayed(
  { surface, request, route, edits, context }: ExchangeOptions,
  target: Target,
  upstream: Upstream,
): UnhostedPlan {
  const { relay, translation } = surface;
  const edited = relay.edit(request, target.endpoint, target.provider, route.unknownFields, edits);
  const { body, stripped, edits: relayEdits, headers, dropped } = edited;
  const reading = relay.reading?.(context, target) ?? null;
  return {
    path: relay.path(target.endpoint),
    headers,
    body,
    translated: false,
    stripped,
    edits: reading === null ? relayEdits : relayEdits | ANSWER_REWRITTEN,
    dropped: request.dropped === undefined ? dropped : [...request.dropped, ...dropped],
    stream: () => {
      if (reading === null) return relay.observe(context);
      const parser = filtered(reading.parseStream(), [endCheck(translation)]);
      return new TranslatedStream(parser, translation.renderStream(context));
    },
    answer: (bytes) => {
      if (reading === null) return relay.readAnswer(bytes, context);
      const events = filteredEvents(reading.parseAnswer(bytes), [endCheck(translation)]);
      return wholeAnswer(events, surface, context);
    },
    streamOfAnswer: (bytes) =>
      streamOf(surface, context, () => {
        const canonical = translation.toCanon(request, route.unknownFields, edits);
        if ("code" in canonical) return failedAnswer("malformed");
        return upstream.parseAnswer(bytes, canonical.request, target, context.answerId);
      }),
  };
}

function translated(
  { surface, request, context }: ExchangeOptions,
  { fitted, formatted, emulation, firstCallOnly, stops, stripped, dropped }: PreparedTranslation,
  target: Target,
  upstream: Upstream,
): UnhostedPlan {
  const { translation } = surface;
  const { answerId } = context;
  const { names } = formatted;
  const filters = (): readonly EventFilter[] => [
    ...(names === undefined ? [] : [callersNames(names)]),
    ...(firstCallOnly ? [firstCall()] : []),
    ...(emulation === null ? [] : [emulation.unfold()]),
    ...(stops.length === 0 ? [] : [stopCut(stops)]),
    endCheck(translation),
  ];
  const read = (bytes: Uint8Array) =>
    filteredEvents(upstream.parseAnswer(bytes, fitted, target, answerId), filters());
  return {
    path: formatted.path,
    headers: formatted.headers,
    body: formatted.body,
    translated: true,
    stripped: request.headers.betas.length === 0 ? stripped : [...stripped, BETA_HEADER],
    edits: TRANSLATED,
    dropped,
    stream: () => {
      const parser = upstream.parseStream(fitted, target, answerId);
      return new TranslatedStream(filtered(parser, filters()), translation.renderStream(context));
    },
    answer: (bytes) => wholeAnswer(read(bytes), surface, context),
    streamOfAnswer: (bytes) => streamOf(surface, context, () => read(bytes)),
  };
}

/** The events of a whole answer as a stream, which has nothing before its end. */
function streamOf(
  { translation }: Surface,
  context: AnswerContext,
  end: EventParser["endAnswer"],
): AnswerStream {
  return new TranslatedStream(
    { push: () => [], endAnswer: end },
    translation.renderStream(context),
  );
}

function wholeAnswer(
  events: readonly InferenceEvent[],
  surface: Surface,
  context: AnswerContext,
): WholeAnswer {
  const answer = collectAnswer(events);
  const dropped = events.flatMap((event) => (event.type === "dropped" ? [event.field] : []));
  if (answer.finish === null)
    return failedWhole(answer.failure ?? "malformed", answer.usage, dropped);
  const rendered = surface.translation.renderAnswer(answer, context);
  return {
    ending: {
      failure: null,
      finish: answer.finish.reason,
      usage: answer.usage,
      dropped: [...dropped, ...rendered.dropped],
    },
    bytes: printJsonBytes(rendered.body),
  };
}

const EVENT_STREAM = "text/event-stream";
/** The model is always named anew where the protocol is another. */
const TRANSLATED: EditSet = editSet("translated") | editSet("model_replaced");
const ANSWER_REWRITTEN: EditSet = editSet("answer_rewritten");

/**
 * The whole answer as the client gets it; one that cannot be read or printed (nested beyond the
 * stack) is malformed.
 */
export function readableAnswer(exchangePlan: ExchangePlan, received: Uint8Array): WholeAnswer {
  try {
    return exchangePlan.answer(received);
  } catch {
    return failedWhole("malformed");
  }
}

/**
 * How a stream ended whose bytes have ended; one that cannot be closed is malformed.
 *
 * @param mayBeCut a lost connection would look like the end of the bytes: without its protocol's
 *   mark the stream is whole only if its counts have come, which providers send last.
 */
export function checkedEnd(stream: AnswerStream, mayBeCut: boolean): StreamEnd {
  const lacksMark = !stream.hasEnded;
  try {
    const { ending, events } = stream.endStream();
    const isCut = mayBeCut && lacksMark && ending.failure === null && ending.usage === null;
    return isCut
      ? { ending: { ...ending, failure: failureOf("truncated") }, events: [] }
      : { ending, events };
  } catch {
    return { ending: failedWhole("malformed", stream.usage).ending, events: [] };
  }
}

const loaded = Object.entries(DIALECTS).map(
  async ([name, { load }]) => [name, (await load()).dialect] as const,
);

const UPSTREAMS: ReadonlyMap<string, Dialect> = new Map(await Promise.all(loaded));

/**
 * How a provider is called for an operation.
 *
 * @param dialect of an endpoint whose model has the operation; anything else is a bug.
 */
export function upstreamFor<Operation extends ModelOperation>(
  operation: Operation,
  dialect: string,
): NonNullable<Dialect[Operation]> {
  const upstream = UPSTREAMS.get(dialect)?.[operation];
  if (upstream === undefined)
    throw new Error(`dialects: ${dialect} has no translator for ${operation}`);
  return upstream;
}
