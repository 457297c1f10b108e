import { createHash } from "node:crypto";

/** The first digits of a text's SHA-256: enough to distinguish the texts of one report. */
export function textDigest(text: string, digits = 12): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}
