import {
  SignJWT,
  errors,
  jwtVerify,
  type CryptoKey,
  type JWTHeaderParameters,
  type JWTPayload,
} from "jose";
import {
  narrow,
  type ExchangeFault,
  type PreparedToken,
  type TokenRequest,
  type TokenVerification,
  type Tokens,
} from "../../canon/credentials/narrowing.ts";
import type { Identity, SignInCheck } from "../../canon/identity.ts";
import { WORKLOAD_SCOPES, ruleOfCaller } from "../../canon/workload-identity.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import type { IssuerStore } from "../key-store.ts";
import type { Clock } from "../key-record.ts";
import type { Holder, OpenKeyRing } from "../key-ring.ts";
import { isCanonicalJws, isToken, TOKEN_PREFIX, type RandomBytes } from "../key-text.ts";
import { ISSUER, TOKEN_TYPE, readClaims, tokenClaims, type Token } from "./claims.ts";
import { IssuerRing, SigningKeys } from "./issuer-ring.ts";
import { TokenCounters } from "./token-counters.ts";

/** Characters; it must fit into a header of 16 KB. */
const LONGEST = 4_096;

const INVALID: TokenVerification = Object.freeze({ ok: false, code: "invalid_api_key" });

/** The tokens of a process. */
export interface TokenExchange extends Tokens {
  readonly spend: (tokenId: string, tokens: number) => void;
  /**
   * Signs a sign-in that a browser carries away, so that it returns to any replica as it was made.
   *
   * @param lifetime seconds. @throws {StoreUnavailableError}
   */
  readonly sealSignIn: (check: SignInCheck, lifetime: number) => Promise<string>;
  /** `null` where no replica of this installation sealed it, or its time is over. */
  readonly openSignIn: (sealed: string) => Promise<SignInCheck | null>;
  readonly close: () => void;
}

/** `typ` of a sealed sign-in: a token can never be used as one, nor the other way round. */
const SIGN_IN_TYPE = "sign-in+jwt";

/** The rule of a workload's caller id, as it is now; `null` where there is none. */
type FindRule = (callerId: string) => Holder | null;

/**
 * Exchanging keys, and JWTs of workloads, for tokens, and knowing the tokens again (RFC 8693).
 *
 * @throws {StoreUnavailableError}
 */
export async function openTokenExchange(
  ring: OpenKeyRing,
  findRule: FindRule,
  issuers: IssuerStore,
  clock: Clock,
  randomBytes: RandomBytes,
): Promise<TokenExchange> {
  const known = new IssuerRing(issuers, clock);
  await known.open();
  const signing = new SigningKeys(issuers, clock, randomBytes, (record) => known.add([record]));
  const counters = new TokenCounters();
  const holderOf: FindHolder = (callerId, now) =>
    ruleOfCaller(callerId) === null ? ring.holder(callerId, now) : findRule(callerId);
  return {
    isToken,
    verify: (text, now) => verify(ring, holderOf, known, text, now),
    reached: (identity) => counters.reached(identity),
    take: (identity, now, requests) => counters.take(identity, now, requests),
    spend: (tokenId, tokens) => counters.spend(tokenId, tokens),
    prepare: (identity, requested) =>
      prepare(holderOf, signing, clock, randomBytes, identity, requested),
    allowsOrigin: ring.allowsOrigin,
    sealSignIn: async (check, lifetime) => {
      const { kid, privateKey } = await signing.current();
      return new SignJWT({ ...check })
        .setProtectedHeader({ alg: "EdDSA", typ: SIGN_IN_TYPE, kid })
        .setExpirationTime(Math.floor(clock() / 1_000) + lifetime)
        .sign(privateKey);
    },
    openSignIn: (sealed) => openSignIn(known, sealed, clock()),
    close: () => known.close(),
  };
}

async function openSignIn(
  issuers: IssuerRing,
  sealed: string,
  now: number,
): Promise<SignInCheck | null> {
  if (sealed.length > LONGEST) return null;
  try {
    const required = ["state", "nonce", "verifier", "exp"];
    const { state, nonce, verifier } = await verifyJws(
      issuers,
      sealed,
      SIGN_IN_TYPE,
      required,
      now,
    );
    const isWhole =
      typeof state === "string" && typeof nonce === "string" && typeof verifier === "string";
    return isWhole ? { state, nonce, verifier } : null;
  } catch {
    return null;
  }
}

/** Who has the key or the rule of that id, as long as it is good. */
type FindHolder = (callerId: string, now: number) => Holder | null;

/** Who gave a token of ours, and whose it was where the giver has ended. */
async function parentOf(
  { keyId, rule }: Token,
  ring: OpenKeyRing,
  holderOf: FindHolder,
  now: number,
): Promise<{ readonly parent: Holder | null; readonly owner: Identity | null }> {
  const known = holderOf(keyId, now);
  if (ruleOfCaller(keyId) !== null) {
    // A rule that says something else now has not given this token.
    return { parent: known?.rule === rule ? known : null, owner: known?.identity ?? null };
  }
  // The key is checked at every use, so its end ends its tokens.
  const parent = known ?? ((await ring.lookUpId(keyId)) ? ring.holder(keyId, now) : null);
  return { parent, owner: parent?.identity ?? ring.named(keyId) };
}

async function verify(
  ring: OpenKeyRing,
  holderOf: FindHolder,
  issuers: IssuerRing,
  text: string,
  now: number,
): Promise<TokenVerification> {
  if (!isToken(text) || text.length > LONGEST || !isCanonicalJws(text.slice(TOKEN_PREFIX.length)))
    return INVALID;
  try {
    const { payload, isExpired } = await verifySignature(issuers, text, now);
    const token = readClaims(payload);
    if (token === null) return INVALID;
    const { parent, owner } = await parentOf(token, ring, holderOf, now);
    if (owner === null || owner.workspace !== token.workspace) return INVALID;
    const identity: Identity = Object.freeze({
      ...owner,
      scopes: new Set(token.scopes),
      expiresAt: Math.min(owner.expiresAt, token.expiresAt),
      narrowed: token.narrowed,
    });
    if (isExpired || parent === null || parent.exchange === null)
      return { ok: false, code: "invalid_api_key", identity };
    return token.scopes.every((scope) => owner.scopes.has(scope))
      ? { ok: true, identity }
      : INVALID;
  } catch {
    // jose's messages quote the token. The caller needs no finer reason.
    return INVALID;
  }
}

/**
 * The payload of a token that a key of ours has signed, also where its time is over. @throws where
 * the signature is none of ours.
 */
async function verifySignature(
  issuers: IssuerRing,
  text: string,
  now: number,
): Promise<{ readonly payload: JWTPayload; readonly isExpired: boolean }> {
  try {
    const payload = await verifyJws(
      issuers,
      text.slice(TOKEN_PREFIX.length),
      TOKEN_TYPE,
      REQUIRED,
      now,
      ISSUER,
    );
    return { payload, isExpired: false };
  } catch (error) {
    // jose looks at the times after it has verified the signature.
    if (error instanceof errors.JWTExpired) return { payload: error.payload, isExpired: true };
    throw error;
  }
}

/**
 * The payload of what a replica of this installation signed as that `typ`. @throws jose's errors,
 * which quote the text.
 */
async function verifyJws(
  issuers: IssuerRing,
  jws: string,
  typ: string,
  requiredClaims: string[],
  now: number,
  issuer?: string,
): Promise<JWTPayload> {
  const keyOf = async ({ kid }: JWTHeaderParameters): Promise<CryptoKey> => {
    const key = typeof kid === "string" ? await issuers.find(kid) : null;
    if (key === null) throw new UnknownIssuerError();
    return key;
  };
  // One algorithm, whichever the header names (RFC 8725 §3.1).
  const expected = { algorithms: ["EdDSA"], typ, requiredClaims, currentDate: new Date(now) };
  return (await jwtVerify(jws, keyOf, issuer === undefined ? expected : { ...expected, issuer }))
    .payload;
}

const REQUIRED = ["iss", "sub", "jti", "iat", "nbf", "exp", "workspace", "scope"];

class UnknownIssuerError extends Error {
  override readonly name = "UnknownIssuerError";
}

function prepare(
  holderOf: FindHolder,
  signing: SigningKeys,
  clock: Clock,
  randomBytes: RandomBytes,
  identity: Identity,
  requested: TokenRequest,
): PreparedToken | ExchangeFault {
  const now = clock();
  const parent = holderOf(identity.keyId, now);
  if (parent === null || parent.exchange === null || (identity.narrowed ?? null) !== null) {
    return { fault: "not_granted" };
  }
  const ofRule = { possible: WORKLOAD_SCOPES, usual: null };
  const grant = narrow(
    identity,
    parent.exchange,
    requested,
    parent.rule === null ? undefined : ofRule,
  );
  if ("field" in grant) return { fault: "option", ...grant };
  const id = Buffer.from(randomBytes(16)).toString("base64url");
  const issuedAt = Math.floor(now / 1_000);
  const expiresAt = Math.min(issuedAt + grant.lifetime, Math.floor(identity.expiresAt / 1_000));
  const claims = tokenClaims(id, identity, grant, parent.rule, issuedAt, expiresAt);
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
        const token = `${TOKEN_PREFIX}${jwt}`;
        return token.length > LONGEST ? { fault: "too_large" } : { token };
      } catch (error) {
        if (error instanceof StoreUnavailableError) return { fault: "unavailable" };
        throw error;
      }
    },
  };
}
