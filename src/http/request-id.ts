import { randomFillSync } from "node:crypto";

/** Random bytes of one id. */
const RANDOM = 10;

/** Random bytes of the next ids: asking the system for each ten bytes costs more than all the rest of an id. */
const pool = Buffer.alloc(RANDOM * 400);
let used = pool.length;

/**
 * `req_`, the time in milliseconds, and 80 random bits, all hexadecimal: rising with time, so that the store's index is written at its end
 * and not all over.
 */
export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.toString("hex", used, used + RANDOM);
  used += RANDOM;
  return `req_${Date.now().toString(16).padStart(12, "0")}${random}`;
}
