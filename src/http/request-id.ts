import { randomUUID } from "node:crypto";

/**
 * `req_`, the time in milliseconds, and 80 random bits, all hexadecimal: rising with time, so that the store's index is written at its end
 * and not all over.
 */
export function newRequestId(): string {
  return `req_${Date.now().toString(16).padStart(12, "0")}${randomUUID().replaceAll("-", "").slice(-20)}`;
}
