import type { Identity, TokenCeilings } from "../../canon/identity.ts";

/**
 * Tokens with ceilings that are counted at once for one workspace. Forgetting one would give it its
 * ceiling again, so beyond this number its new ones are refused, and no other workspace's.
 */
const MAXIMUM_TOKENS = 20_000;

/** A full workspace is looked through for what has expired once in so long, milliseconds. */
const SCAN_INTERVAL = 1_000;

/** A caller, as far as counting needs it. */
type CountedCaller = Pick<Identity, "workspace" | "expiresAt" | "narrowed">;

interface Account {
  requests: number;
  tokens: number;
  readonly expiresAt: number;
}

interface WorkspaceAccounts {
  readonly accounts: Map<string, Account>;
  scannedAt: number;
}

/**
 * What tokens with ceilings have used in this process. Every replica counts for itself: over all of
 * them a token may use its ceiling as many times as there are replicas, within its minutes.
 */
export class TokenCounters {
  readonly #accounts = new Map<string, Account>();
  readonly #workspaces = new Map<string, WorkspaceAccounts>();

  /**
   * The ceiling that is reached already; counts nothing. `null` too where the caller has no token.
   */
  reached({ narrowed }: CountedCaller): "requests" | "tokens" | null {
    if (narrowed == null) return null;
    const account = this.#accounts.get(narrowed.tokenId);
    return account === undefined ? null : reachedBy(account, narrowed.ceilings);
  }

  /**
   * Counts requests; gives the ceiling that does not allow them, and then counts nothing.
   * @param now milliseconds since the epoch. @param requests at least 1: a batch counts once for
   * each of its calls.
   */
  take(caller: CountedCaller, now: number, requests = 1): "requests" | "tokens" | null {
    const { narrowed } = caller;
    if (
      narrowed == null ||
      (narrowed.ceilings.requests === null && narrowed.ceilings.tokens === null)
    )
      return null;
    const account =
      this.#accounts.get(narrowed.tokenId) ?? this.#open(narrowed.tokenId, caller, now);
    if (account === null) return "requests";
    const reached = reachedBy(account, narrowed.ceilings, requests);
    if (reached === null) account.requests += requests;
    return reached;
  }

  /** Adds what a request turned out to use; of tokens without ceilings nothing is kept. */
  spend(tokenId: string, tokens: number): void {
    const account = this.#accounts.get(tokenId);
    if (account !== undefined) account.tokens += tokens;
  }

  #open(tokenId: string, { workspace, expiresAt }: CountedCaller, now: number): Account | null {
    const own = this.#workspaces.get(workspace) ?? {
      accounts: new Map(),
      scannedAt: Number.NEGATIVE_INFINITY,
    };
    this.#workspaces.set(workspace, own);
    if (own.accounts.size >= MAXIMUM_TOKENS) this.#forgetExpired(own, now);
    if (own.accounts.size >= MAXIMUM_TOKENS) return null;
    const account = { requests: 0, tokens: 0, expiresAt };
    own.accounts.set(tokenId, account);
    this.#accounts.set(tokenId, account);
    return account;
  }

  #forgetExpired(own: WorkspaceAccounts, now: number): void {
    if (now - own.scannedAt < SCAN_INTERVAL) return;
    own.scannedAt = now;
    for (const [id, { expiresAt }] of own.accounts) {
      if (expiresAt > now) continue;
      own.accounts.delete(id);
      this.#accounts.delete(id);
    }
  }
}

/** @param more requests that are about to start. */
function reachedBy(
  account: Account,
  { requests, tokens }: TokenCeilings,
  more = 1,
): "requests" | "tokens" | null {
  if (requests !== null && account.requests + more > requests) return "requests";
  return tokens !== null && account.tokens >= tokens ? "tokens" : null;
}
