/**
 * The protocol signs parts of every kind: a function call (the first of several at once), a text,
 * an empty text at the end of a stream, a thought. Canon has signatures on reasoning only, so one
 * on another part becomes reasoning without text directly before it. Surfaces may move reasoning
 * before all other content, and the provider refuses a call whose signature is elsewhere: the
 * canonical signature therefore begins with the kind of its part. Base64 has no full stop, so no
 * provider's signature looks like a marked one.
 */
const SIGNED_PARTS = ["call", "text", "empty", "thought"] as const;

export type SignedPart = (typeof SIGNED_PARTS)[number];

/** @example markSignature("call", "c2ln") // "call.c2ln" */
export function markSignature(part: SignedPart, signature: string): string {
  return `${part}.${signature}`;
}

/**
 * The kind of the signed part and the bare signature; a signature without a kind belongs to the
 * part that follows it.
 */
export function readMarked(text: string): {
  readonly part: SignedPart | null;
  readonly signature: string;
} {
  const part = SIGNED_PARTS.find((prefix) => text.startsWith(`${prefix}.`)) ?? null;
  return { part, signature: part === null ? text : text.slice(part.length + 1) };
}

/**
 * The signature that the provider documents for calls in the history by other models: base64 of
 * `skip_thought_signature_validator`. Without it a conversation that another model began, or whose
 * client drops signatures, is refused at its first tool call.
 */
export const UNSIGNED_CALL = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";
