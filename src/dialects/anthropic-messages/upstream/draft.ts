import type { JsonValue } from "../../../canon/json.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";

/** The body of a request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  readonly dropped: Set<DroppedField>;
}
