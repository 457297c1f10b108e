import type { ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/dropped-field.ts";
import type { Target } from "../dialect.ts";
import type { UnaryCall, UnaryPart, UnaryResult, UnaryTask, UnaryUpstream } from "./surface.ts";

/** A part in the protocol of one endpoint; the 400 where the endpoint cannot carry it. */
export function callTo<Request, Result extends UnaryResult>(
  upstream: UnaryUpstream<Request, Result>,
  request: Request,
  target: Target,
): UnaryCall | ServiceError {
  const formatted = upstream.format(request, target);
  if ("code" in formatted) return formatted;
  const { path, headers, body, dropped } = formatted;
  return {
    path,
    headers,
    body: JSON.stringify(body),
    dropped,
    read: (answer) => upstream.parseAnswer(answer, request, target),
    readError: upstream.readError,
  };
}

/** What a request was found to be when it was read. */
export interface ReadRequest<Request> {
  readonly request: Request;
  readonly stripped: readonly string[];
  readonly dropped: readonly DroppedField[];
}

/** A request that is answered as a whole or not at all. */
export function singlePartTask<Request, Result extends UnaryResult>(
  { request, stripped, dropped }: ReadRequest<Request>,
  inputs: number,
  targets: readonly Target[],
  upstreamOf: (target: Target) => UnaryUpstream<Request, Result>,
  answer: UnaryTask["answer"],
): UnaryTask {
  const { calls, refusals } = callsTo(targets, (target) => callTo(upstreamOf(target), request, target));
  const part: UnaryPart = { first: 0, count: inputs, callTo: (target) => callOf(calls, target) };
  return { parts: [part], stripped, dropped, refusals, takesGaps: false, answer };
}

interface Calls {
  /** Endpoint id → the way to it. */
  readonly calls: ReadonlyMap<string, UnaryCall>;
  readonly refusals: ReadonlyMap<string, ServiceError>;
}

function callsTo(targets: readonly Target[], make: (target: Target) => UnaryCall | ServiceError): Calls {
  const calls = new Map<string, UnaryCall>();
  const refusals = new Map<string, ServiceError>();
  for (const target of targets) {
    const call = make(target);
    if ("code" in call) refusals.set(target.endpoint.id, call);
    else calls.set(target.endpoint.id, call);
  }
  return { calls, refusals };
}

function callOf(calls: ReadonlyMap<string, UnaryCall>, { endpoint }: Target): UnaryCall {
  const call = calls.get(endpoint.id);
  if (call === undefined) throw new Error("unary: a call to an endpoint whose protocol cannot express the request");
  return call;
}
