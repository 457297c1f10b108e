import type { RequestEdits } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import type { JsonObject } from "../canon/json.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { EndpointRow, ProviderRow, UnknownFields } from "../canon/table.ts";

/** How a product speaks to us. */
export interface Surface {
  /**
   * Reads a body that the surface's schema has accepted.
   *
   * @param bytes size of the body as it arrived; the context bucket is estimated from it.
   */
  readonly parse: (body: JsonObject, bytes: number) => InferenceRequest | ServiceError;
  /** The 400 for members that the route does not take; `null` where it takes all. */
  readonly refuseUnknown: (body: JsonObject, unknownFields: UnknownFields) => ServiceError | null;
  /** The body of an error answer. */
  readonly renderError: (error: ServiceError, requestId: string) => string;
  /** What ends a stream that has begun and cannot be finished: never a normal end (protocols.md §2.4, §3). */
  readonly renderStreamFailure: (error: ServiceError, requestId: string) => Uint8Array;
}

/** A request on its way upstream, and what was changed on purpose. */
export interface EditedRequest {
  readonly body: JsonObject;
  /** Registered names of members that were taken out; they stand in the evidence. */
  readonly stripped: readonly string[];
}

/** Token counts as the upstream gave them; `null` where it did not. `input` includes what was read from a cache. */
export interface TokenUsage {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly reasoning: number | null;
}

/** What an observer has learnt when the upstream has ended. */
export interface Ending {
  /** `null`: the upstream said that the answer is whole. */
  readonly failure: UpstreamFailure | null;
  /** The upstream's finish reason; `null` where it gave none. Always from a closed list. */
  readonly finish: string | null;
  readonly usage: TokenUsage | null;
}

/** Watches a relayed stream. A machine: synchronous, pure, exactly one ending (architecture.md, "Streams in the core"). */
export interface StreamObserver {
  /** Takes bytes as they arrive; gives the whole events to relay, the first of them with data. An empty list: wait for more. */
  push(chunk: Uint8Array): readonly Uint8Array[];
  /** Set as soon as the stream is known to have gone wrong; nothing after that is relayed. */
  readonly failure: UpstreamFailure | null;
  /** Set as soon as the upstream has said that nothing more follows; what it sends after that is not part of the answer. */
  readonly done: boolean;
  /** The upstream's bytes have ended, or it is `done`. Gives what must still be sent to close the stream properly. */
  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] };
  /** What is known of tokens so far, for a stream that is given up. */
  readonly usage: TokenUsage | null;
}

/** Surface and endpoint speak the same dialect: the request is edited, the answer is relayed as it is. */
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
  readonly observe: (request: InferenceRequest) => StreamObserver;
  /** Judges a whole JSON answer without changing it. */
  readonly readAnswer: (bytes: Uint8Array) => Ending;
  /** Makes a failure of an answer with an error status. Nothing of the upstream's text is kept. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}
