import type { RandomBytes } from "./key-text.ts";

/** How long a code is good, milliseconds. */
const LIFETIME = 10 * 60_000;

/** Codes that sign in once each, for a link that a terminal shows; in the memory of one process. */
export class SignInCodes {
  readonly #codes = new Map<string, { readonly keyId: string; readonly until: number }>();
  readonly #randomBytes: RandomBytes;

  constructor(randomBytes: RandomBytes) {
    this.#randomBytes = randomBytes;
  }

  /** @param now milliseconds since the epoch. */
  make(keyId: string, now: number): string {
    const code = Buffer.from(this.#randomBytes(32)).toString("base64url");
    this.#codes.set(code, { keyId, until: now + LIFETIME });
    return code;
  }

  /** The key that the code stands for; no second time. `null` for one that is unknown, used or too old. */
  take(code: string, now: number): string | null {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    return found === undefined || now >= found.until ? null : found.keyId;
  }
}
