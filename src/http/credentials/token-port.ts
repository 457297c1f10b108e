import type { TokenRefusal, TokenRequest } from "../../canon/credentials/narrowing.ts";
import type { Identity } from "../../canon/identity.ts";

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

/** Exchanged tokens as http needs them; `keys/tokens/token-exchange.ts`. */
export interface Tokens {
  /** Whether a credential is meant as a token; nothing is said of its worth. */
  readonly isToken: (text: string) => boolean;
  /**
   * Who holds the token; every reason to refuse it is the same. `identity` of a refusal is whose token it was, where we have signed it. Never rejects.
   *
   * @param now milliseconds since the epoch.
   */
  readonly verify: (
    text: string,
    now: number,
  ) => Promise<
    | { readonly ok: true; readonly identity: Identity }
    | { readonly ok: false; readonly code: string; readonly identity?: Identity }
  >;
  /** The ceiling of the token that is reached already; counts nothing. */
  readonly reached: (identity: Identity) => "requests" | "tokens" | null;
  /** Counts requests against the token's ceilings; gives the one that does not allow them. @param requests 1 where absent. */
  readonly take: (identity: Identity, now: number, requests?: number) => "requests" | "tokens" | null;
  readonly prepare: (identity: Identity, asked: TokenRequest) => PreparedToken | ExchangeFault;
  /** Whether a good key may be exchanged for tokens that are bound to this web origin by name. */
  readonly allowsOrigin: (origin: string, now: number) => boolean;
}
