import type { JsonObject } from "../../canon/json.ts";

/** An answer as a stream of server-sent events. */
export interface EventStream {
  /** JSON Schema of the data of each event, the last one's and our error's included; `[DONE]` is no JSON and has none. */
  readonly events: JsonObject;
  /** Whether events have names (`event:`); each is the `type` of its data. */
  readonly isNamed: boolean;
  /** Whether the last event is `[DONE]`. */
  readonly hasDone: boolean;
  /** What says that the answer is whole, for readers. */
  readonly ends: string;
}
