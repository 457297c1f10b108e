import type { Narrowing } from "../../canon/credentials/narrowing.ts";

/** Tokens counted at once. Forgetting one would give it its ceiling again, so beyond this number new ones are refused. */
const MAXIMUM_TOKENS = 200_000;

interface Account {
  requests: number;
  tokens: number;
  readonly expiresAt: number;
}

/**
 * What tokens with ceilings have used in this process. Every replica counts for itself: over all of them a token may use its ceiling as many times as
 * there are replicas, within its minutes.
 */
export class TokenLedger {
  readonly #accounts = new Map<string, Account>();

  /** Counts one request; gives the ceiling that is reached already, and then counts nothing. */
  take({ tokenId, ceilings }: Narrowing, expiresAt: number, now: number): "requests" | "tokens" | null {
    if (ceilings.requests === null && ceilings.tokens === null) return null;
    const account = this.#accounts.get(tokenId) ?? this.#open(tokenId, expiresAt, now);
    if (account === null || (ceilings.requests !== null && account.requests >= ceilings.requests)) return "requests";
    if (ceilings.tokens !== null && account.tokens >= ceilings.tokens) return "tokens";
    account.requests += 1;
    return null;
  }

  /** Adds what a request turned out to use; of tokens without ceilings nothing is kept. */
  spend(tokenId: string, tokens: number): void {
    const account = this.#accounts.get(tokenId);
    if (account !== undefined) account.tokens += tokens;
  }

  #open(tokenId: string, expiresAt: number, now: number): Account | null {
    if (this.#accounts.size >= MAXIMUM_TOKENS) this.#forgetExpired(now);
    if (this.#accounts.size >= MAXIMUM_TOKENS) return null;
    const account = { requests: 0, tokens: 0, expiresAt };
    this.#accounts.set(tokenId, account);
    return account;
  }

  #forgetExpired(now: number): void {
    for (const [id, { expiresAt }] of this.#accounts) if (expiresAt <= now) this.#accounts.delete(id);
  }
}
