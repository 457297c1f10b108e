import {
  errors,
  jwtVerify,
  type CryptoKey,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
} from "jose";
import {
  TOKEN_SCOPES,
  narrow,
  type ExchangeFault,
  type PreparedToken,
  type TokenGrant,
  type TokenRequest,
  type TokenVerification,
  type Tokens,
} from "../../canon/credentials/narrowing.ts";
import { TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import {
  isScope,
  type Identity,
  type Narrowing,
  type Scope,
  type SignInCheck,
  type TokenCeilings,
} from "../../canon/identity.ts";
import { isOperation } from "../../canon/operation.ts";
import { WORKLOAD_SCOPES, ruleOfCaller } from "../../canon/workload-identity.ts";
import type { Clock } from "../key-record.ts";
import type { Holder, OpenKeyRing } from "../key-ring.ts";
import type { IssuerStore } from "../key-store.ts";
import { TOKEN_PREFIX, isCanonicalJws, isToken, type RandomBytes } from "../key-text.ts";
import { createSigningKeys, openIssuerRing } from "./issuer-ring.ts";

const ISSUER = "signalbox";

/**
 * `typ` of the header: a JWT of another kind that the same key had signed would be no token (RFC
 * 9068 §2.1, RFC 8725 §3.11).
 */
const TOKEN_TYPE = "at+jwt";

/**
 * How far the clocks of two replicas may be apart, seconds: from so long before its making a token
 * is good.
 */
const CLOCK_SKEW = 30;

/** The claims of a token. Its holder can read all of them; none is secret. */
interface Token {
  readonly keyId: string;
  readonly workspace: string;
  readonly scopes: readonly Scope[];
  readonly narrowed: Narrowing;
  /** Digest of the rule by which a workload has it; `null`: it is of a key. */
  readonly rule: string | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * @param rule as of {@link Token}. @param issuedAt seconds since the epoch. @param expiresAt the
 * same; not after the key's own.
 */
function tokenClaims(
  id: string,
  key: { readonly keyId: string; readonly workspace: string },
  grant: TokenGrant,
  rule: string | null,
  issuedAt: number,
  expiresAt: number,
): JWTPayload {
  const { scopes, operations, routes, origin, ceilings } = grant;
  return {
    iss: ISSUER,
    sub: key.keyId,
    jti: id,
    iat: issuedAt,
    nbf: issuedAt - CLOCK_SKEW,
    exp: expiresAt,
    workspace: key.workspace,
    scope: scopes.join(" "),
    operations,
    routes,
    origin,
    max_requests: ceilings.requests,
    max_tokens: ceilings.tokens,
    ...(rule !== null && { rule }),
  };
}

/**
 * Reads claims whose signature and times are right; `null` where a member is missing or of another
 * kind. Nothing missing reads as "no bound".
 */
export function readClaims(claims: JWTPayload): Token | null {
  const {
    sub,
    jti,
    iat,
    exp,
    workspace,
    scope,
    operations,
    routes,
    origin,
    max_requests,
    max_tokens,
    rule = null,
  } = claims;
  if (typeof sub !== "string" || typeof jti !== "string" || !/^[\w-]{1,64}$/.test(jti)) return null;
  if (typeof iat !== "number" || typeof exp !== "number" || exp - iat > TOKEN_LIFETIME.maximum)
    return null;
  if (typeof workspace !== "string" || typeof scope !== "string") return null;
  const scopes = scope.split(" ").filter(isScope);
  if (rule !== null && typeof rule !== "string") return null;
  const possible: readonly Scope[] = rule === null ? TOKEN_SCOPES : WORKLOAD_SCOPES;
  if (scopes.length === 0 || !scopes.every((each) => possible.includes(each))) return null;
  const kinds = readList(operations);
  const names = readList(routes);
  const requests = readCount(max_requests);
  const tokens = readCount(max_tokens);
  if (kinds === undefined || names === undefined || requests === undefined || tokens === undefined)
    return null;
  if (origin !== null && typeof origin !== "string") return null;
  return {
    keyId: sub,
    workspace,
    scopes,
    narrowed: {
      tokenId: jti,
      operations: kinds?.filter(isOperation) ?? null,
      routes: names,
      origin,
      ceilings: { requests, tokens },
    },
    rule,
    expiresAt: exp * 1_000,
  };
}

function readList(value: unknown): readonly string[] | null | undefined {
  if (value === null) return null;
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((item) => typeof item === "string");
  return texts.length === value.length ? texts : undefined;
}

function readCount(value: unknown) {
  return value === null || (typeof value === "number" && Number.isSafeInteger(value))
    ? value
    : undefined;
}

/**
 * Tokens with ceilings that are counted at once for one workspace. Forgetting one would give it its
 * ceiling again, so beyond this number its new ones are refused, and no other workspace's.
 */
const MAXIMUM_TOKENS = 20_000;

/** How often a full workspace is searched for expired tokens, milliseconds. */
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
 * Amounts that tokens with ceilings have used in this process. Every replica counts for itself:
 * over all of them a token may use its ceiling as many times as there are replicas, within its
 * minutes.
 */
export function tokenCounters() {
  const accounts = new Map<string, Account>();
  const workspaces = new Map<string, WorkspaceAccounts>();

  function openAccount(
    tokenId: string,
    { workspace, expiresAt }: CountedCaller,
    now: number,
  ): Account | null {
    const ofWorkspace = workspaces.get(workspace) ?? {
      accounts: new Map(),
      scannedAt: Number.NEGATIVE_INFINITY,
    };
    workspaces.set(workspace, ofWorkspace);
    if (ofWorkspace.accounts.size >= MAXIMUM_TOKENS) forgetExpired(ofWorkspace, now);
    if (ofWorkspace.accounts.size >= MAXIMUM_TOKENS) return null;
    const account = { requests: 0, tokens: 0, expiresAt };
    ofWorkspace.accounts.set(tokenId, account);
    accounts.set(tokenId, account);
    return account;
  }

  function forgetExpired(ofWorkspace: WorkspaceAccounts, now: number) {
    if (now - ofWorkspace.scannedAt < SCAN_INTERVAL) return;
    ofWorkspace.scannedAt = now;
    for (const [id, { expiresAt }] of ofWorkspace.accounts) {
      if (expiresAt > now) continue;
      ofWorkspace.accounts.delete(id);
      accounts.delete(id);
    }
  }

  return {
    /**
     * The ceiling that is reached already; counts nothing. `null` too where the caller has no
     * token.
     */
    reached({ narrowed }: CountedCaller): "requests" | "tokens" | null {
      if (narrowed == null) return null;
      const account = accounts.get(narrowed.tokenId);
      return account === undefined ? null : reachedBy(account, narrowed.ceilings);
    },
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
      const account = accounts.get(narrowed.tokenId) ?? openAccount(narrowed.tokenId, caller, now);
      if (account === null) return "requests";
      const reached = reachedBy(account, narrowed.ceilings, requests);
      if (reached === null) account.requests += requests;
      return reached;
    },
    /** Adds the use of a request; of tokens without ceilings nothing is kept. */
    spend(tokenId: string, tokens: number): void {
      const account = accounts.get(tokenId);
      if (account !== undefined) account.tokens += tokens;
    },
  };
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

const REQUIRED = ["iss", "sub", "jti", "iat", "nbf", "exp", "workspace", "scope"];

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
  const publicKeys = await openIssuerRing(issuers, clock);
  const signing = createSigningKeys(issuers, clock, randomBytes, (record) =>
    publicKeys.add([record]),
  );
  /** Who has the key or the rule of that id, as long as it is good. */
  const holderOf = (callerId: string, now: number) =>
    ruleOfCaller(callerId) === null ? ring.holder(callerId, now) : findRule(callerId);
  /**
   * The payload that a replica of this installation signed. @param expected kind and claims of it.
   * @throws jose's errors, which quote the text.
   */
  async function verifyJws(jws: string, now: number, expected: JWTVerifyOptions) {
    const keyOf = async ({ kid = "" }: JWTHeaderParameters): Promise<CryptoKey> => {
      const key = await publicKeys.find(kid);
      if (key === null) throw new errors.JWKSNoMatchingKey();
      return key;
    };
    // One algorithm, whichever the header names (RFC 8725 §3.1).
    const fixed = { algorithms: ["EdDSA"], currentDate: new Date(now) };
    return (await jwtVerify(jws, keyOf, { ...expected, ...fixed })).payload;
  }

  /**
   * The payload of a token that a key of ours has signed, also where its time is over. @throws
   * where the signature is none of ours.
   */
  async function verifySignature(text: string, now: number) {
    try {
      const payload = await verifyJws(text.slice(TOKEN_PREFIX.length), now, {
        typ: TOKEN_TYPE,
        requiredClaims: REQUIRED,
        issuer: ISSUER,
      });
      return { payload, isExpired: false };
    } catch (error) {
      // jose looks at the times after it has verified the signature.
      if (error instanceof errors.JWTExpired) return { payload: error.payload, isExpired: true };
      throw error;
    }
  }

  async function openSignIn(sealed: string): Promise<SignInCheck | null> {
    if (sealed.length > LONGEST) return null;
    try {
      const requiredClaims = ["state", "nonce", "verifier", "exp"];
      const { state, nonce, verifier } = await verifyJws(sealed, clock(), {
        typ: SIGN_IN_TYPE,
        requiredClaims,
      });
      const isComplete =
        typeof state === "string" && typeof nonce === "string" && typeof verifier === "string";
      return isComplete ? { state, nonce, verifier } : null;
    } catch {
      return null;
    }
  }

  /** Who gave a token of ours, and whose it was where the giver has ended. */
  async function parentOf({ keyId, rule }: Token, now: number) {
    const holder = holderOf(keyId, now);
    if (ruleOfCaller(keyId) !== null) {
      // A rule that has changed since has not given this token.
      return { parent: holder?.rule === rule ? holder : null, owner: holder?.identity ?? null };
    }
    // The key is checked at every use, so its end ends its tokens.
    const parent = holder ?? ((await ring.lookUpId(keyId)) ? ring.holder(keyId, now) : null);
    return { parent, owner: parent?.identity ?? ring.identityOf(keyId) };
  }

  async function verify(text: string, now: number): Promise<TokenVerification> {
    if (!isToken(text) || text.length > LONGEST || !isCanonicalJws(text.slice(TOKEN_PREFIX.length)))
      return INVALID;
    try {
      const { payload, isExpired } = await verifySignature(text, now);
      const token = readClaims(payload);
      if (token === null) return INVALID;
      const { parent, owner } = await parentOf(token, now);
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

  function prepare(identity: Identity, requested: TokenRequest): PreparedToken | ExchangeFault {
    const now = clock();
    const parent = holderOf(identity.keyId, now);
    if (parent === null || parent.exchange === null || (identity.narrowed ?? null) !== null) {
      return { fault: "not_granted" };
    }
    const ofRule = { possible: WORKLOAD_SCOPES, defaults: null };
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
          const token = `${TOKEN_PREFIX}${await signing.sign(claims, TOKEN_TYPE)}`;
          return token.length > LONGEST ? { fault: "too_large" } : { token };
        } catch (error) {
          if (error instanceof StoreUnavailableError) return { fault: "unavailable" };
          throw error;
        }
      },
    };
  }

  return {
    isToken,
    verify,
    ...tokenCounters(),
    prepare,
    allowsOrigin: ring.allowsOrigin,
    sealSignIn: (check, lifetime) => {
      const exp = Math.floor(clock() / 1_000) + lifetime;
      return signing.sign({ ...check, exp }, SIGN_IN_TYPE);
    },
    openSignIn,
    close: publicKeys.close,
  };
}
