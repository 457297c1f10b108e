import type { CacheMark, ImagePart } from "../../../canon/generate/message.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { JsonValue } from "../../../canon/json.ts";

/** A request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  /** Members of `generationConfig`. */
  readonly config: Record<string, JsonValue | undefined>;
  readonly dropped: Set<DroppedField>;
  /** The detail of every image of the request: the protocol has one for all of them. */
  readonly details: Set<ImagePart["detail"]>;
}

/** What a provider may keep is named in the protocol, not marked. */
export function dropMark(cache: CacheMark | null, { dropped }: Draft): void {
  if (cache !== null) dropped.add("cache_mark_dropped");
}
