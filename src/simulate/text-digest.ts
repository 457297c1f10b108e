import { createHash } from "node:crypto";

/** The first digits of a text's SHA-256: enough to tell texts of one report from each other. */
export function textDigest(text: string, digits = 12): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}
