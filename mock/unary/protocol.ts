import type { Answer, StreamEvent, FailureGrammar } from "../answer.ts";
import { POISON, type Behaviour, type ResultMember } from "../behaviour.ts";
import { invalid, type Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { protocolOf, statusAnswer, type Call, type Simulation } from "../simulate.ts";

/** A request that is answered with a list of results, as far as every such request is alike. */
export interface Batch {
  /** Inputs that are counted against the most that a request may have. */
  readonly count: number;
  /** Every text of the request. */
  readonly texts: readonly string[];
}

/** The body of an answer, and headers besides those of every answer of the endpoint. */
export interface Rendered {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An endpoint that answers one JSON request with one list of results. */
export interface UnarySimulation<Request extends Batch> extends Pick<
  Simulation,
  "codes" | "modelIn" | "unauthorised" | "refuse"
> {
  readonly failure: Pick<FailureGrammar, "body">;
  /** Members about lists of results that the endpoint has a form for. */
  readonly results: readonly ResultMember[];
  /** Whether answers report their cost. */
  readonly reportsUsage: boolean;
  /** The member of the body with the inputs. */
  readonly list: string;
  /** Most inputs of one request. */
  readonly most: number;
  /** Headers of every answer. */
  identity(sequence: number): Readonly<Record<string, string>>;
  read(call: Call): Request | Problem;
  render(request: Request, call: Call): Rendered | Problem;
}

/** Settings of text and of streams; no list of results has a form for them. */
const TEXT_MEMBERS: readonly (keyof Behaviour)[] = [
  "chunks",
  "size",
  "unicode",
  "redacted",
  "reasoning",
  "toolCalls",
  "refusal",
  "finish",
  "cached",
  "cacheWrite",
  "noDone",
  "noFinish",
  "crlf",
  "noSpace",
  "keepalive",
];

const MALFORMED: StreamEvent = {
  name: null,
  data: '{"object":"list","data":[{"index":0,"embedding":[0.25,',
  purpose: "content",
};

/** The endpoint as a protocol. */
export function unaryProtocol<Request extends Batch>(
  simulation: UnarySimulation<Request>,
): Protocol {
  const { results, reportsUsage, failure } = simulation;
  return protocolOf({
    ...simulation,
    finishes: new Map(),
    lacks: reportsUsage ? TEXT_MEMBERS : [...TEXT_MEMBERS, "noUsage"],
    results,
    // Nothing is streamed, so an error is always a whole body.
    failure: { body: failure.body, malformed: MALFORMED, errorFrame: () => [], failed: null },
    complete: (call) => complete(simulation, call),
  });
}

function complete<Request extends Batch>(
  simulation: UnarySimulation<Request>,
  call: Call,
): Answer | Problem {
  const { behaviour, sequence } = call;
  const request = simulation.read(call);
  if ("status" in request) return request;
  const most = Math.min(simulation.most, behaviour.failOver ?? Infinity);
  if (request.count > most) return tooMany(simulation.list, most, request.count);
  const { poison: status, retryAfter } = behaviour;
  if (status !== null && request.texts.some((text) => text.includes(POISON)))
    return statusAnswer(simulation, { status, retryAfter }, sequence);
  const rendered = simulation.render(request, call);
  if (!("body" in rendered)) return rendered;
  const headers = { ...simulation.identity(sequence), ...rendered.headers };
  return { kind: "json", status: 200, headers, body: JSON.stringify(rendered.body) };
}

function tooMany(list: string, most: number, count: number): Problem {
  return invalid(
    list,
    `At most ${most} can be sent in one request; this one has ${count}.`,
    "array_above_max_length",
  );
}
