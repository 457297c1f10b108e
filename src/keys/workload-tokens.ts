import {
  createLocalJWKSet,
  decodeJwt,
  errors,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
} from "jose";
import { hash } from "node:crypto";
import type { Identity } from "../canon/identity.ts";
import {
  canonicalJson,
  isJsonObject,
  parseJson,
  type JsonObject,
  type JsonValue,
} from "../canon/json.ts";
import {
  matchesClaims,
  ruleOfCaller,
  workloadCaller,
  type AdmittedWorkload,
  type FetchJson,
  type KeyFetchFailure,
  type WorkloadFault,
  type WorkloadIdentity,
  type WorkloadIssuer,
  type WorkloadRule,
} from "../canon/workload-identity.ts";
import type { Clock } from "./key-record.ts";
import type { Holder } from "./key-ring.ts";
import { isCanonicalJws } from "./key-text.ts";
import { remember } from "../canon/remember.ts";

/** Finds the key of a JWT's header; throws jose's errors. */
type KeyFinder = ReturnType<typeof createLocalJWKSet>;

/**
 * Keys are fetched again after this time, milliseconds: keys that the issuer has withdrawn are
 * rejected from then on.
 */
const FRESH = 10 * 60_000;

/** How long keys are used while their issuer cannot be reached, milliseconds from their fetch. */
const STALE = 60 * 60_000;

/**
 * Least time between two fetches that unknown keys cause, milliseconds: anybody can send a JWT with
 * an unknown key.
 */
const PAUSE = 30_000;

/** Least time after a fetch that failed, milliseconds. */
const PAUSE_AFTER_FAILURE = 5_000;

/** Keys of a set that are looked at; others are ignored. */
const MOST_KEYS = 100;

/** Milliseconds; never goes back. */
type MonotonicClock = () => number;

/** The keys of one issuer, fetched when they are needed. */
function remoteKeys(
  { issuer, keys, network }: WorkloadIssuer,
  fetchJson: FetchJson,
  clock: MonotonicClock,
  onFailure: (failure: KeyFetchFailure) => void,
) {
  const reach = network ?? "public";
  let loaded: { readonly find: KeyFinder; readonly at: number } | null = null;
  let next = Number.NEGATIVE_INFINITY;

  /** All who wait share it. */
  let running: Promise<void> | null = null;

  /**
   * `null` where the issuer could not be reached for so long that its keys are too old. Never
   * rejects.
   */
  async function current(): Promise<KeyFinder | null> {
    if (age() >= FRESH) await renew();
    return age() < STALE ? (loaded?.find ?? null) : null;
  }

  /**
   * The keys, fetched again where the pause since the last fetch allows it. @param failing in which
   * a key was not found.
   */
  async function renewed(failing: KeyFinder): Promise<KeyFinder | null> {
    if (loaded?.find === failing) await renew();
    return loaded?.find ?? null;
  }

  function age() {
    return loaded === null ? Number.POSITIVE_INFINITY : clock() - loaded.at;
  }

  function renew(): Promise<void> {
    if (running === null && clock() < next) return Promise.resolve();
    running ??= fetchAgain().finally(() => (running = null));
    return running;
  }

  async function fetchAgain() {
    const found = await fetchKeys();
    next = clock() + (typeof found === "string" ? PAUSE_AFTER_FAILURE : PAUSE);
    if (typeof found === "string") onFailure(found);
    else loaded = { find: found, at: clock() };
  }

  async function fetchKeys(): Promise<KeyFinder | KeyFetchFailure> {
    const uri = keys.kind === "uri" ? keys.uri : await discover();
    if (typeof uri !== "string") return uri.failure;
    const answer = await fetchJson(uri, reach);
    if ("failure" in answer) return answer.failure;
    const listed = isJsonObject(answer.json) ? answer.json.keys : null;
    return Array.isArray(listed) ? finderOf(listed.slice(0, MOST_KEYS)) : "not_a_key_set";
  }

  /**
   * OpenID Connect Discovery §4: the document must name the requested issuer, or another could
   * speak for it.
   */
  async function discover(): Promise<string | { readonly failure: KeyFetchFailure }> {
    const answer = await fetchJson(
      `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
      reach,
    );
    if ("failure" in answer) return answer;
    const found = isJsonObject(answer.json) ? answer.json : {};
    const uri = found.jwks_uri;
    const isValid = found.issuer === issuer && typeof uri === "string" && isFetchable(uri, issuer);
    return isValid ? uri : { failure: "discovery_mismatch" };
  }

  return { current, renewed };
}

/**
 * Over plain http anybody between could put other keys; an issuer on this machine may have them
 * there too.
 */
function isFetchable(uri: string, issuer: string): boolean {
  if (!URL.canParse(uri)) return false;
  const { protocol, origin } = new URL(uri);
  return protocol === "https:" || (issuer.startsWith("http:") && origin === new URL(issuer).origin);
}

/**
 * Keys that cannot verify a signature, or are no keys, are left out: one of a new kind must not end
 * all others.
 */
function finderOf(keys: readonly JsonValue[]): KeyFinder {
  const usable = keys.filter(
    (key): key is JsonObject & JSONWebKeySet["keys"][number] =>
      isJsonObject(key) && typeof key.kty === "string" && key.kty !== "oct",
  );
  return createLocalJWKSet({ keys: usable });
}

/** Characters of a JWT: those of clouds have about two thousand. */
const LONGEST = 16_384;

/**
 * How far the issuer's clock may be ahead of ours, seconds: for `nbf` and `iat`, never for `exp`.
 */
const CLOCK_SKEW = 30;

/**
 * Signatures with public keys only, whatever the header names (RFC 8725 §3.1): with an HMAC
 * algorithm in the list a public key could be used as the secret.
 */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

export type WorkloadTokens = ReturnType<typeof createWorkloadTokens>;

/** Judges the JWTs of workloads (docs/keys.md#workloads-without-keys). */
export function createWorkloadTokens(
  fetchJson: FetchJson,
  clock: Clock,
  monotonic: MonotonicClock,
  onFailure: (issuer: string, failure: KeyFetchFailure) => void,
) {
  /** By the row of the issuer: another row is fetched anew. */
  const remotes = new Map<string, ReturnType<typeof remoteKeys>>();
  const finders = new WeakMap<WorkloadIssuer, KeyFinder>();

  /** Never rejects. */
  async function admit(
    jwt: string,
    workloads: WorkloadIdentity,
  ): Promise<AdmittedWorkload | WorkloadFault> {
    const found = issuerOf(jwt, workloads);
    if (found === undefined) return { fault: "invalid" };
    const [issuerId, issuer] = found;
    const verified = await verify(jwt, issuerId, issuer, workloads);
    if ("fault" in verified) return verified;
    const { iss, sub, exp } = verified.payload;
    if (typeof sub !== "string" || sub === "" || exp === undefined) return { fault: "invalid" };
    const rules = Object.values(workloads.rules).filter(
      (rule) =>
        rule.issuedBy === issuerId &&
        audiences(verified.payload).includes(rule.audience) &&
        matchesClaims(verified.claims, rule.claims),
    );
    const [rule] = rules;
    if (rules.length > 1) return { fault: "ambiguous", rules: rules.map(({ id }) => id) };
    const holder = rule === undefined ? null : ruleHolder(workloads, workloadCaller(rule.id));
    if (holder === null) return { fault: "not_granted" };
    return {
      identity: { ...holder.identity, expiresAt: exp * 1_000 },
      // A list, so that no other issuer and subject make the same text.
      subject: hash("sha256", canonicalJson([iss ?? "", sub]), "hex"),
    };
  }

  async function verify(
    jwt: string,
    id: string,
    issuer: WorkloadIssuer,
    workloads: WorkloadIdentity,
  ): Promise<VerifiedJwt | WorkloadFault> {
    const remote = issuer.keys.kind === "file" ? null : remoteOf(id, issuer, workloads);
    const keys = remote === null ? staticOf(issuer) : await remote.current();
    if (keys === null) return { fault: "unavailable" };
    const verified = await verifySignature(jwt, issuer.issuer, keys, clock());
    if (verified !== "unknown_key") return verified;
    // The issuer may have a new key.
    const renewed = (await remote?.renewed(keys)) ?? null;
    const again =
      renewed === null ? verified : await verifySignature(jwt, issuer.issuer, renewed, clock());
    return again === "unknown_key" ? { fault: "invalid" } : again;
  }

  function remoteOf(id: string, issuer: WorkloadIssuer, workloads: WorkloadIdentity) {
    const key = keyOf(id, issuer);
    return remember(remotes, key, () => {
      // Those of issuers that a reload has taken away are forgotten.
      const present = new Set(
        Object.entries(workloads.issuers).map(([name, row]) => keyOf(name, row)),
      );
      for (const name of remotes.keys()) if (!present.has(name)) remotes.delete(name);
      return remoteKeys(issuer, fetchJson, monotonic, (failure) => onFailure(id, failure));
    });
  }

  function staticOf(issuer: WorkloadIssuer): KeyFinder {
    const { keys } = issuer;
    return remember(finders, issuer, () => finderOf(keys.kind === "file" ? keys.keys : []));
  }

  return { admit };
}

function keyOf(id: string, issuer: WorkloadIssuer) {
  return canonicalJson([id, issuer]);
}

/** The claimed issuer: nothing is verified yet. */
function issuerOf(
  jwt: string,
  { issuers }: WorkloadIdentity,
): readonly [id: string, issuer: WorkloadIssuer] | undefined {
  if (jwt.length > LONGEST || !isCanonicalJws(jwt)) return undefined;
  let named: unknown;
  try {
    named = decodeJwt(jwt).iss;
  } catch {
    // jose's messages quote the token.
    return undefined;
  }
  return Object.entries(issuers).find(([, { issuer }]) => issuer === named);
}

interface VerifiedJwt {
  readonly payload: JWTPayload;
  readonly claims: JsonObject;
}

async function verifySignature(
  jwt: string,
  issuer: string,
  keys: KeyFinder,
  now: number,
): Promise<VerifiedJwt | WorkloadFault | "unknown_key"> {
  try {
    const { payload } = await jwtVerify(jwt, keys, {
      algorithms: ALGORITHMS,
      issuer,
      clockTolerance: CLOCK_SKEW,
      currentDate: new Date(now),
      requiredClaims: ["iss", "sub", "aud", "exp"],
    });
    // jose's tolerance would also let `exp` pass; it compares `iat` only where it is given a
    // greatest age.
    const { iat = 0, exp = 0 } = payload;
    if (exp <= now / 1_000 || iat > now / 1_000 + CLOCK_SKEW) return { fault: "expired" };
    const claims = parseJson(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString("utf8"));
    return isJsonObject(claims) ? { payload, claims } : { fault: "invalid" };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return "unknown_key";
    const isNotYetValid = error instanceof errors.JWTClaimValidationFailed && error.claim === "nbf";
    return { fault: error instanceof errors.JWTExpired || isNotYetValid ? "expired" : "invalid" };
  }
}

/** jose takes any `aud` where it is given no audience to look for. */
function audiences({ aud }: JWTPayload): readonly string[] {
  return typeof aud === "string" ? [aud] : Array.isArray(aud) ? aud : [];
}

/** Rules are rows of frozen tables. */
const holders = new WeakMap<WorkloadRule, Holder>();

/** The rule of a caller's id; `null` where the table has none. */
export function ruleHolder(
  workloads: WorkloadIdentity | undefined,
  callerId: string,
): Holder | null {
  const id = ruleOfCaller(callerId);
  if (workloads === undefined || id === null || !Object.hasOwn(workloads.rules, id)) return null;
  const rule = workloads.rules[id];
  if (rule === undefined) return null;
  return remember(holders, rule, () => makeHolder(workloads, rule));
}

function makeHolder({ issuers }: WorkloadIdentity, rule: WorkloadRule): Holder {
  const {
    id,
    workspace,
    scopes,
    environment,
    workload,
    owner,
    labels,
    operations,
    routes,
    lifetime,
  } = rule;
  const identity: Identity = Object.freeze({
    workspace,
    keyId: workloadCaller(id),
    scopes: new Set(scopes),
    environment,
    workload,
    labels,
    ...(owner !== null && { owner }),
    expiresAt: Number.MAX_SAFE_INTEGER,
  });
  return {
    identity,
    exchange: { maximumLifetime: lifetime, operations, routes, origins: null },
    rule: hash("sha256", canonicalJson([rule, issuers[rule.issuedBy] ?? null]), "hex"),
  };
}
