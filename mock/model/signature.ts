import { createHmac } from "node:crypto";

/** Who signs: reasoning that one family signed means nothing to another. */
export type SignatureFamily =
  | "thinking"
  | "redacted-thinking"
  | "encrypted-reasoning"
  | "thought"
  | "reasoning-content"
  | "redacted-content";

/**
 * Not a secret: it only has to be the same in every simulated provider, as a real one's is at all
 * of its addresses.
 */
const KEY = "signalbox mock";

/**
 * Distinguishes what the simulated provider signed from anything else at a glance, in a log for
 * example.
 */
const PREFIX = "mock";

/** A signature over a text, which {@link isSigned} recognises. Base64 without padding. */
export function sign(family: SignatureFamily, text: string): string {
  return (
    PREFIX +
    createHmac("sha256", `${KEY} ${family}`).update(text).digest("base64").replaceAll("=", "")
  );
}

/** Whether a simulated provider signed exactly this text for this family. */
export function isSigned(family: SignatureFamily, text: string, signature: unknown): boolean {
  return signature === sign(family, text);
}

/**
 * A text that only a simulated provider can read, and that carries its own proof. Base64 for URLs.
 */
export function seal(family: SignatureFamily, text: string): string {
  return `${Buffer.from(text).toString("base64url")}.${sign(family, text).replaceAll("+", "-").replaceAll("/", "_")}`;
}

/** Whether a simulated provider sealed it for this family. */
export function isSealed(family: SignatureFamily, sealed: unknown): boolean {
  if (typeof sealed !== "string") return false;
  const text = Buffer.from(sealed.split(".", 1)[0] ?? "", "base64url").toString();
  return sealed === seal(family, text);
}
