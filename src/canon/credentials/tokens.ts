import type { Identity } from "../identity.ts";
import type { TokenRefusal, TokenRequest } from "./narrowing.ts";

/** Why a key is not exchanged. */
export type ExchangeFault =
  | { readonly fault: "not_granted" | "too_large" | "unavailable" }
  | { readonly fault: "option"; readonly field: TokenRefusal["field"]; readonly fix: string };

/** A token before it is handed out. */
export interface PreparedToken {
  readonly id: string;
  readonly scopes: readonly string[];
  /** Seconds. */
  readonly lifetime: number;
  readonly sign: () => Promise<{ readonly token: string } | ExchangeFault>;
}

/**
 * `identity` of a refusal is whose token it was, where we have signed it: expired, or of a key that
 * has ended.
 */
export type TokenVerification =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly code: "invalid_api_key"; readonly identity?: Identity };

/** Exchanged tokens as the request path needs them. Times are milliseconds since the epoch. */
export interface Tokens {
  /** Whether a credential looks like a token; it may still be invalid. */
  readonly isToken: (text: string) => boolean;
  /** Who holds the token; every reason to refuse it is the same. Never rejects. */
  readonly verify: (text: string, now: number) => Promise<TokenVerification>;
  /** The ceiling of the token that is reached already; counts nothing. */
  readonly reached: (identity: Identity) => "requests" | "tokens" | null;
  /**
   * Counts requests against the token's ceilings; gives the one that does not allow them. @param
   * requests 1 where absent.
   */
  readonly take: (
    identity: Identity,
    now: number,
    requests?: number,
  ) => "requests" | "tokens" | null;
  readonly prepare: (identity: Identity, requested: TokenRequest) => PreparedToken | ExchangeFault;
  /**
   * Whether an active key may be exchanged for tokens that are bound to this web origin by name.
   */
  readonly allowsOrigin: (origin: string, now: number) => boolean;
}
