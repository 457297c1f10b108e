import { createHash } from "node:crypto";

/** The hash before the first row: what position 1 is chained to. */
export const GENESIS = "0".repeat(64);

/**
 * The hash of a row of the evidence log: lower-case hexadecimal SHA-256 over the hash before it, its position, its kind
 * and the exact text of its record, a line feed between each.
 */
export function chainHash(previous: string, position: number, kind: "decision" | "outcome", record: string): string {
  return createHash("sha256").update(`${previous}\n${position}\n${kind}\n${record}`, "utf8").digest("hex");
}
