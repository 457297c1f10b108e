import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import type { StopSource } from "../dispatch/stop-order.ts";
import type { InferenceEndpoint } from "./contract/endpoint.ts";
import type { BodyValidator } from "./contract/validate.ts";
import type { Capacity } from "./capacity.ts";
import type { Recorder } from "./recorder.ts";
import type { Runtime } from "./runtime.ts";
import type { Snapshot } from "./snapshot.ts";

/** One inference request and everything it is handled with. */
export interface InferenceCall {
  readonly runtime: Runtime;
  readonly endpoint: InferenceEndpoint;
  readonly validate: BodyValidator;
  readonly capacity: Capacity;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly snapshot: Snapshot;
  readonly requestId: string;
  readonly common: readonly string[];
  readonly recorder: Recorder;
  /** What can end the request from here; absent until its caller is known. */
  stops?: StopSource | undefined;
}

/**
 * Lets the decision's way to the disk overlap with the provider's call, unless the store is known to be in trouble: then
 * no provider is called, and paid, for an answer that could not be given.
 *
 * @param recorded of {@link Recorder.decided}
 */
export function refusedByStore(
  runtime: Pick<Runtime, "evidenceStatus">,
  recorded: Promise<ServiceError | null>,
): Promise<ServiceError | null> | null {
  return runtime.evidenceStatus().state === "ok" ? null : recorded;
}
