import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { JsonValue } from "../../../canon/json.ts";

/** The body of a request while it is made, what could not be said in it, and why it cannot be sent at all. */
export class Draft {
  readonly body: Record<string, JsonValue> = {};
  /** Members of `additionalModelRequestFields`: what only some models have. */
  readonly additional: Record<string, JsonValue> = {};
  readonly dropped = new Set<DroppedField>();
  #refusal: ServiceError | null = null;

  /** The first 400; what is written after it is never sent. */
  get refusal(): ServiceError | null {
    return this.#refusal;
  }

  refuse(code: string, message: string): void {
    this.#refusal ??= invalidRequest(code, message);
  }
}
