/**
 * Signed reasoning travels through clients as text that they give back unchanged. A signature that crosses to another protocol's clients is
 * tagged with the family that can read it; one that a native relay passed on carries no tag and belongs to the protocol's own family.
 */
const TAG = "sbx1.";

/** Family names as routes.yaml may write them; a tag with anything else is not ours. */
const FAMILY = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export function tagSignature(family: string, signature: string): string {
  return `${TAG}${family}.${signature}`;
}

/** The family and the bare signature. Base64 has no full stop, so no provider's signature is taken for a tagged one. */
export function readSignature(text: string, untagged: string): { readonly family: string; readonly signature: string } {
  if (!text.startsWith(TAG)) return { family: untagged, signature: text };
  const end = text.indexOf(".", TAG.length);
  const family = end === -1 ? "" : text.slice(TAG.length, end);
  if (!FAMILY.test(family)) return { family: untagged, signature: text };
  return { family, signature: text.slice(end + 1) };
}
