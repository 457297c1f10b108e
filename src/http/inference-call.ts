import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import type { StopSource } from "../dispatch/stop-order.ts";
import type { InferenceEndpoint } from "./contract/endpoint.ts";
import type { BodyValidator } from "./validate-body.ts";
import type { Capacity } from "./capacity.ts";
import type { Bounds } from "./heads.ts";
import type { Recorder } from "./recorder.ts";
import type { DecidedRequest } from "./records.ts";
import type { Snapshot } from "./snapshot.ts";
import type { RequestRuntime } from "./runtime.ts";

/** One inference endpoint as a listener serves it. */
export interface ServedInference {
  readonly runtime: RequestRuntime;
  readonly endpoint: InferenceEndpoint;
  readonly validate: BodyValidator;
  readonly capacity: Capacity;
  /**
   * A header of every answer, where web pages may call the endpoint (`varyHeadersOf`); name and
   * value by turns.
   */
  readonly vary: readonly string[];
}

/** A request that has arrived, from a caller who is not authenticated yet. */
export interface Arrival {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly snapshot: Snapshot;
  readonly requestId: string;
  /** Headers of every answer; names and values alternate. */
  readonly common: readonly string[];
  readonly recorder: Recorder;
}

/** One inference request of an authenticated caller. */
export interface InferenceCall extends Arrival {
  readonly runtime: RequestRuntime;
  readonly endpoint: InferenceEndpoint;
  readonly identity: Identity;
  readonly bounds: Bounds;
  /** Ends the request when the server stops or the key is revoked. */
  readonly stops: StopSource;
}

/** How the handling of a request ended. */
export type RequestEnd =
  /** The answer was sent, or the client left while it was on its way. */
  | { readonly kind: "answered" }
  /** The client left before the whole request had arrived. */
  | { readonly kind: "aborted" }
  /** Nothing is recorded yet. With `decided`, a limit refused the request after its decision. */
  | { readonly kind: "refused"; readonly error: ServiceError; readonly decided?: DecidedRequest }
  /** The decision is recorded; the client gets an error instead of an answer. */
  | { readonly kind: "failed"; readonly error: ServiceError };

const ANSWERED: RequestEnd = { kind: "answered" };

export function refusedEnd(error: ServiceError, decided?: DecidedRequest): RequestEnd {
  return decided === undefined ? { kind: "refused", error } : { kind: "refused", error, decided };
}

/** @param error `null` where the answer was sent. */
export function endOf(error: ServiceError | null): RequestEnd {
  return error === null ? ANSWERED : { kind: "failed", error };
}
