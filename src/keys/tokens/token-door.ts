import { SignJWT, jwtVerify } from "jose";

import { narrow, type TokenRefusal, type TokenRequest } from "../../canon/credentials/narrowing.ts";
import type { Identity } from "../../canon/identity.ts";
import { StoreUnavailableError } from "../../store/errors.ts";
import type { IssuerStore } from "../../store/issuers.ts";
import type { Clock } from "../key-record.ts";
import type { OpenKeyRing, Verification } from "../key-ring.ts";
import type { RandomBytes } from "../key-text.ts";
import { ISSUER, TOKEN_TYPE, readClaims, tokenClaims } from "./claims.ts";
import { IssuerRing } from "./issuer-ring.ts";
import { SigningKeys } from "./signing-key.ts";
import { TokenLedger, type CountedToken } from "./token-ledger.ts";

/** In front of the JWT, so that people and secret scanners know one. No service key has a dot. */
const PREFIX = "sbx_x_";

/** Characters; a header of 16 KB must have room for it. */
const LONGEST = 4_096;

const INVALID: Verification = Object.freeze({ ok: false, code: "invalid_api_key" });

/** Why a key is not exchanged. */
export type ExchangeFault =
  | { readonly fault: "not_granted" | "too_large" | "unavailable" }
  | { readonly fault: "option"; readonly field: TokenRefusal["field"]; readonly fix: string };

/** A token that nobody has yet. */
export interface PreparedToken {
  readonly id: string;
  readonly scopes: readonly string[];
  /** Seconds. */
  readonly lifetime: number;
  readonly sign: () => Promise<{ readonly token: string } | ExchangeFault>;
}

export interface TokenDoor {
  /** Whether a credential is meant as a token; nothing is said of its worth. */
  readonly isToken: (text: string) => boolean;
  /** Who holds the token; every reason to refuse it is the same. Never rejects. */
  readonly verify: (text: string, now: number) => Promise<Verification>;
  /** The ceiling of the token that is reached already; counts nothing. */
  readonly reached: (identity: Identity) => "requests" | "tokens" | null;
  /** Counts a request against the token's ceilings; gives the one that is reached. */
  readonly take: (identity: Identity, now: number) => "requests" | "tokens" | null;
  readonly spend: (tokenId: string, tokens: number) => void;
  readonly prepare: (identity: Identity, asked: TokenRequest) => PreparedToken | ExchangeFault;
  /** Whether an active key may be exchanged for tokens that are bound to this origin by name. */
  readonly allowsOrigin: (origin: string, now: number) => boolean;
  readonly close: () => void;
}

/** Exchanging keys for tokens, and knowing the tokens again (RFC 8693). @throws {StoreUnavailableError} */
export async function openTokenDoor(
  ring: OpenKeyRing,
  issuers: IssuerStore,
  clock: Clock,
  randomBytes: RandomBytes,
): Promise<TokenDoor> {
  const known = new IssuerRing(issuers, clock);
  await known.open();
  const signing = new SigningKeys(issuers, clock, randomBytes, (record) => known.add([record]));
  const ledger = new TokenLedger();
  return {
    isToken,
    verify: (text, now) => verify(ring, known, text, now),
    reached: (identity) => {
      const token = countedToken(identity);
      return token === null ? null : ledger.reached(token);
    },
    take: (identity, now) => {
      const token = countedToken(identity);
      return token === null ? null : ledger.take(token, now);
    },
    spend: (tokenId, tokens) => ledger.spend(tokenId, tokens),
    prepare: (identity, asked) => prepare(ring, signing, clock, randomBytes, identity, asked),
    allowsOrigin: ring.allowsOrigin,
    close: () => known.close(),
  };
}

function countedToken({ workspace, expiresAt, narrowed }: Identity): CountedToken | null {
  if (narrowed === undefined || narrowed === null) return null;
  return { tokenId: narrowed.tokenId, ceilings: narrowed.ceilings, workspace, expiresAt };
}

function isToken(text: string): boolean {
  return text.startsWith(PREFIX) && text.includes(".");
}

async function verify(ring: OpenKeyRing, issuers: IssuerRing, text: string, now: number): Promise<Verification> {
  if (!isToken(text) || text.length > LONGEST) return INVALID;
  try {
    const { payload } = await jwtVerify(
      text.slice(PREFIX.length),
      async ({ kid }) => {
        const key = typeof kid === "string" ? await issuers.find(kid) : null;
        if (key === null) throw new UnknownIssuerError();
        return key;
      },
      // One algorithm, whatever the header says (RFC 8725 §3.1).
      { algorithms: ["EdDSA"], typ: TOKEN_TYPE, issuer: ISSUER, currentDate: new Date(now), requiredClaims: REQUIRED },
    );
    const token = readClaims(payload);
    if (token === null) return INVALID;
    // The key is asked anew at every use: what ends it ends its tokens.
    const parent =
      ring.holder(token.keyId, now) ?? ((await ring.lookUpId(token.keyId)) ? ring.holder(token.keyId, now) : null);
    if (parent === null || parent.exchange === null || parent.identity.workspace !== token.workspace) return INVALID;
    const { identity } = parent;
    if (!token.scopes.every((scope) => identity.scopes.has(scope))) return INVALID;
    const narrowed: Identity = Object.freeze({
      ...identity,
      scopes: new Set(token.scopes),
      expiresAt: Math.min(identity.expiresAt, token.expiresAt),
      narrowed: token.narrowed,
    });
    return { ok: true, identity: narrowed };
  } catch {
    // What jose says quotes the token. Every reason is the same to who holds a bad one.
    return INVALID;
  }
}

const REQUIRED = ["iss", "sub", "jti", "iat", "nbf", "exp", "workspace", "scope"];

class UnknownIssuerError extends Error {
  override readonly name = "UnknownIssuerError";
}

function prepare(
  ring: OpenKeyRing,
  signing: SigningKeys,
  clock: Clock,
  randomBytes: RandomBytes,
  identity: Identity,
  asked: TokenRequest,
): PreparedToken | ExchangeFault {
  const now = clock();
  const exchange = ring.holder(identity.keyId, now)?.exchange ?? null;
  if (exchange === null || (identity.narrowed ?? null) !== null) return { fault: "not_granted" };
  const grant = narrow(identity, exchange, asked);
  if ("field" in grant) return { fault: "option", ...grant };
  const id = Buffer.from(randomBytes(16)).toString("base64url");
  const issuedAt = Math.floor(now / 1_000);
  const expiresAt = Math.min(issuedAt + grant.lifetime, Math.floor(identity.expiresAt / 1_000));
  const claims = tokenClaims(id, identity, grant, issuedAt, expiresAt);
  return {
    id,
    scopes: grant.scopes,
    lifetime: expiresAt - issuedAt,
    async sign() {
      try {
        const { kid, privateKey } = await signing.current();
        const jwt = await new SignJWT(claims)
          .setProtectedHeader({ alg: "EdDSA", typ: TOKEN_TYPE, kid })
          .sign(privateKey);
        const token = `${PREFIX}${jwt}`;
        return token.length > LONGEST ? { fault: "too_large" } : { token };
      } catch (error) {
        if (error instanceof StoreUnavailableError) return { fault: "unavailable" };
        throw error;
      }
    },
  };
}
