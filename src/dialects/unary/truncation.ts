import type { DroppedField } from "../../canon/generate/dropped-field.ts";

/** What a protocol drops that cannot express whether inputs may be cut: nothing unless the caller set it. */
export function droppedTruncation({ mayTruncate }: { readonly mayTruncate: boolean | null }): readonly DroppedField[] {
  return mayTruncate === null ? [] : ["truncation_unspoken"];
}
