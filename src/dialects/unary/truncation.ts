import type { Loss } from "../../canon/generate/loss.ts";

/** The loss of a protocol that has no word for whether inputs may be cut: there is one only where the caller said something. */
export function truncationLosses({ mayTruncate }: { readonly mayTruncate: boolean | null }): readonly Loss[] {
  return mayTruncate === null ? [] : ["truncation_unspoken"];
}
