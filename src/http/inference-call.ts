import type { IncomingMessage, ServerResponse } from "node:http";
import type { StopSource } from "../dispatch/stop-order.ts";
import type { InferenceEndpoint } from "./contract/endpoint.ts";
import type { BodyValidator } from "./validate-body.ts";
import type { Capacity } from "./capacity.ts";
import type { Recorder } from "./recorder.ts";
import type { Runtime } from "./runtime.ts";
import type { Snapshot } from "./snapshot.ts";

/** One inference endpoint as a listener serves it. */
export interface ServedInference {
  readonly runtime: Runtime;
  readonly endpoint: InferenceEndpoint;
  readonly validate: BodyValidator;
  readonly capacity: Capacity;
  /**
   * A header of every answer, where web pages may call the endpoint (`varyHeadersOf`); name and
   * value by turns.
   */
  readonly vary: readonly string[];
}

/** One inference request and everything it is handled with. */
export interface InferenceCall extends Omit<ServedInference, "vary"> {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly snapshot: Snapshot;
  readonly requestId: string;
  readonly common: readonly string[];
  readonly recorder: Recorder;
  /** What can end the request from here; absent until its caller is known. */
  stops?: StopSource | undefined;
}
