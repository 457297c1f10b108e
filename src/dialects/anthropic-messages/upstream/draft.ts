import type { JsonValue } from "../../../canon/json.ts";
import type { Loss } from "../../../canon/generate/loss.ts";

/** The body of a request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  readonly losses: Set<Loss>;
}
