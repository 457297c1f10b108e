/**
 * Clients get signed reasoning as text that they send back unchanged. Every signature that leaves
 * the router shows which family can read it: by a tag, or by its absence, which is the protocol's
 * own family (decision 7).
 */
const TAG = "sbx1.";

/** Family names as routes.yaml may write them; a tag with anything else is not ours. */
const FAMILY = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * The family of models that name none. Policies read the same value as
 * `input.candidates[_].signature_family`.
 */
export const NO_FAMILY = "none";

/** @example tagSignature("openai", "c2ln") // "sbx1.openai.c2ln" */
export function tagSignature(family: string, signature: string): string {
  return `${TAG}${family}.${signature}`;
}

/**
 * The family and the bare signature. Base64 has no full stop, so no provider's signature looks like
 * a tagged one.
 *
 * @example readSignature("sbx1.openai.c2ln", "anthropic").family // "openai"
 */
export function readSignature(
  text: string,
  untagged: string,
): { readonly family: string; readonly signature: string } {
  if (!text.startsWith(TAG)) return { family: untagged, signature: text };
  const end = text.indexOf(".", TAG.length);
  const family = end === -1 ? "" : text.slice(TAG.length, end);
  if (!FAMILY.test(family)) return { family: untagged, signature: text };
  return { family, signature: text.slice(end + 1) };
}

/**
 * A provider's signature as clients of the same protocol get it: tagged, unless its family is the
 * default of the protocol. A provider that is itself such a router may have tagged it already; a
 * second tag keeps its tag from being read as ours.
 *
 * @example relayedSignature("c2ln", "openai", "anthropic") // "sbx1.openai.c2ln"
 *
 * @param untagged family of the protocol's signatures without a tag.
 */
export function relayedSignature(
  signature: string,
  family: string | null,
  untagged: string,
): string {
  const signer = family ?? NO_FAMILY;
  if (signature === "" || (signer === untagged && !signature.startsWith(TAG))) return signature;
  return tagSignature(signer, signature);
}
