import { isSealed, seal } from "../model/signature.ts";

/** The part of a signature. One that is moved to another part is refused. */
export type Signed = `call ${string}` | "text";

/** What the provider documents for calls that no model of its own has made. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"].flatMap((text) => [
    text,
    Buffer.from(text).toString("base64"),
  ]),
);

/** Base64, as the protocol writes bytes. */
export function signThought(signed: Signed): string {
  return Buffer.from(seal("thought", signed)).toString("base64");
}

/** Whether a part may have a signature. */
export function isSignedThought(signed: Signed, signature: string): boolean {
  if (PLACEHOLDERS.has(signature)) return true;
  const sealed = Buffer.from(signature, "base64").toString();
  return isSealed("thought", sealed) && signature === signThought(signed);
}
