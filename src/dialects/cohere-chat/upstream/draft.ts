import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { JsonValue } from "../../../canon/json.ts";

/** The body of a request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue>;
  readonly dropped: Set<DroppedField>;
}

/** The 400 for what the protocol has no words for. */
export function lacking(what: string): ServiceError {
  return invalidRequest("feature_not_supported", `An endpoint that may get the request has no ${what}`);
}
