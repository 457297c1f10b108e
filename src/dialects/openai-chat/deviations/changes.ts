import { editSet, type EditSet } from "../../../canon/generate/edit.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";

/** A finished body of this protocol that is still ours to change; the objects inside it are not, so they are copied. */
export type EditableBody = Record<string, JsonValue | undefined>;

/** What a provider's flags changed. */
export interface Changes {
  /** Registered names of top-level members that were taken out. */
  readonly stripped: string[];
  readonly dropped: Set<DroppedField>;
  edits: EditSet;
}

export const MEMBER_REWRITTEN = editSet("member_rewritten");

/** An object without one of its members; the same object where it does not have it. */
export function without(object: JsonObject, name: string): JsonObject {
  if (object[name] === undefined) return object;
  const { [name]: _, ...rest } = object;
  return rest;
}
