import type { RequestEdits } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { collectAnswer } from "../../canon/generate/answer.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import { emulatesSchema } from "../../canon/generate/schema-emulation.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { RouteRow } from "../../canon/table.ts";
import type {
  AnswerContext,
  AnswerStream,
  CanonicalRequest,
  Surface,
  Target,
  Upstream,
  WholeAnswer,
} from "../dialect.ts";
import { emulateSchema } from "./emulate-schema.ts";
import { TranslatedStream } from "./translated-stream.ts";

/** One request's way to one endpoint and back: what is sent, and how the answer becomes the client's. Relay and translation look the same from here. */
export interface Passage {
  /** Path after the provider's base URL. */
  readonly path: string;
  /** Headers of the protocol besides those of every call: names and values by turns. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly translated: boolean;
  readonly stripped: readonly string[];
  /** What the request lost on the way; the answer's losses come with its ending. */
  readonly losses: readonly Loss[];
  /** Content type of the upstream's streams, lower case, without parameters. */
  readonly streamType: string;
  readonly stream: () => AnswerStream;
  readonly answer: (bytes: Uint8Array) => WholeAnswer;
  /** Makes a failure of an answer with an error status. Nothing of the upstream's text is kept. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}

export interface PassageOptions {
  readonly surface: Surface;
  readonly request: InferenceRequest;
  /** `null` where every endpoint of the plan speaks the surface's dialect. */
  readonly canonical: CanonicalRequest | null;
  readonly route: RouteRow;
  readonly edits: RequestEdits;
  readonly context: AnswerContext;
}

/**
 * Opens the way to an endpoint: relays where surface and endpoint speak the same dialect, translates where they do not (architecture.md,
 * "Native relay"). An error is the 400 for what only the endpoint's printer could find.
 *
 * @param upstream the endpoint's dialect.
 */
export function openPassage(options: PassageOptions, target: Target, upstream: Upstream): Passage | ServiceError {
  return target.endpoint.dialect === options.surface.dialect
    ? relayed(options, target, upstream)
    : translated(options, target, upstream);
}

function relayed(
  { surface, request, route, edits, context }: PassageOptions,
  target: Target,
  upstream: Upstream,
): Passage {
  const { relay } = surface;
  const { body, stripped, headers } = relay.edit(request, target.endpoint, target.provider, route.unknownFields, edits);
  return {
    path: relay.path(target.endpoint),
    headers,
    body: JSON.stringify(body),
    translated: false,
    stripped,
    losses: NONE,
    streamType: upstream.streamType ?? EVENT_STREAM,
    stream: () => relay.observe(context),
    answer: (bytes) => relay.readAnswer(bytes, context),
    readError: upstream.readError,
  };
}

function translated(options: PassageOptions, target: Target, upstream: Upstream): Passage | ServiceError {
  const { surface, request, canonical, route, context } = options;
  if (canonical === null)
    throw new Error("openPassage: an endpoint of another dialect, and the request is not in canon");
  const emulation = emulatesSchema(route, request.shape, target.endpoint) ? emulateSchema(canonical.request) : null;
  const asked = emulation === null ? canonical.request : emulation.request;
  const formatted = upstream.format(asked, target);
  if ("code" in formatted) return formatted;
  const losses = [...canonical.losses, ...formatted.losses];
  if (emulation !== null) losses.push("schema_emulated");
  return {
    path: formatted.path,
    headers: formatted.headers,
    body: JSON.stringify(formatted.body),
    translated: true,
    stripped: canonical.stripped,
    losses,
    streamType: upstream.streamType ?? EVENT_STREAM,
    stream: () => {
      const parser = upstream.parseStream(asked, target);
      const renderer = surface.translation.renderStream(context);
      return new TranslatedStream(emulation === null ? parser : emulation.wrap(parser), renderer);
    },
    answer: (bytes) => {
      const events = upstream.parseAnswer(bytes, asked, target);
      return wholeAnswer(emulation === null ? events : emulation.map(events), surface, context);
    },
    readError: upstream.readError,
  };
}

function wholeAnswer(events: readonly InferenceEvent[], surface: Surface, context: AnswerContext): WholeAnswer {
  const answer = collectAnswer(events);
  const told = events.flatMap((event) => (event.type === "loss" ? [event.loss] : []));
  if (answer.finish === null) {
    const failure = answer.failure ?? { kind: "malformed", status: null, retryAfter: null, code: null };
    return { ending: { failure, finish: null, usage: answer.usage, losses: told }, bytes: EMPTY };
  }
  const { body, losses } = surface.translation.renderAnswer(answer, context);
  return {
    ending: { failure: null, finish: answer.finish.reason, usage: answer.usage, losses: [...told, ...losses] },
    bytes: encoder.encode(JSON.stringify(body)),
  };
}

const EVENT_STREAM = "text/event-stream";
const NONE: readonly Loss[] = Object.freeze([]);
const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();
