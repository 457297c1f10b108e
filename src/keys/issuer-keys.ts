import { createLocalJWKSet, type JSONWebKeySet } from "jose";
import { isJsonObject, type JsonObject, type JsonValue } from "../canon/json.ts";
import type { FetchJson, KeyFetchFailure, WorkloadIssuer } from "../canon/workload-identity.ts";

/** Finds the key of a JWT's header; throws jose's errors. */
export type KeyFinder = ReturnType<typeof createLocalJWKSet>;

/**
 * Keys are fetched again after this time, milliseconds: what the issuer has taken back is refused
 * from then on.
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
export type MonotonicClock = () => number;

/** The keys of one issuer, fetched when they are needed. */
export class RemoteKeys {
  readonly #issuer: WorkloadIssuer;
  readonly #fetchJson: FetchJson;
  readonly #clock: MonotonicClock;
  readonly #onFailure: (failure: KeyFetchFailure) => void;
  #known: { readonly find: KeyFinder; readonly at: number } | null = null;
  #next = Number.NEGATIVE_INFINITY;
  /** All who wait share it. */
  #running: Promise<void> | null = null;

  constructor(
    issuer: WorkloadIssuer,
    fetchJson: FetchJson,
    clock: MonotonicClock,
    onFailure: (failure: KeyFetchFailure) => void,
  ) {
    this.#issuer = issuer;
    this.#fetchJson = fetchJson;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /**
   * `null` where the issuer could not be reached for so long that its keys are too old. Never
   * rejects.
   */
  async current(): Promise<KeyFinder | null> {
    if (this.#age() >= FRESH) await this.#renew();
    return this.#age() < STALE ? (this.#known?.find ?? null) : null;
  }

  /**
   * The keys, fetched again where the pause since the last fetch allows it. @param seen in which a
   * key was not found.
   */
  async renewed(seen: KeyFinder): Promise<KeyFinder | null> {
    if (this.#known?.find === seen) await this.#renew();
    return this.#known?.find ?? null;
  }

  #age(): number {
    return this.#known === null ? Number.POSITIVE_INFINITY : this.#clock() - this.#known.at;
  }

  #renew(): Promise<void> {
    if (this.#running === null && this.#clock() < this.#next) return Promise.resolve();
    this.#running ??= this.#fetch().finally(() => (this.#running = null));
    return this.#running;
  }

  async #fetch(): Promise<void> {
    const found = await this.#fetchKeys();
    this.#next = this.#clock() + (typeof found === "string" ? PAUSE_AFTER_FAILURE : PAUSE);
    if (typeof found === "string") this.#onFailure(found);
    else this.#known = { find: found, at: this.#clock() };
  }

  async #fetchKeys(): Promise<KeyFinder | KeyFetchFailure> {
    const { issuer, keys, network = "public" } = this.#issuer;
    const uri = keys.kind === "uri" ? keys.uri : await this.#discover(issuer, network);
    if (typeof uri !== "string") return uri.failure;
    const answer = await this.#fetchJson(uri, network);
    if ("failure" in answer) return answer.failure;
    const listed = isJsonObject(answer.json) ? answer.json["keys"] : null;
    return Array.isArray(listed) ? finderOf(listed.slice(0, MOST_KEYS)) : "not_a_key_set";
  }

  /**
   * OpenID Connect Discovery §4: the document must name the requested issuer, or another could
   * speak for it.
   */
  async #discover(
    issuer: string,
    network: "public" | "private",
  ): Promise<string | { readonly failure: KeyFetchFailure }> {
    const answer = await this.#fetchJson(
      `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
      network,
    );
    if ("failure" in answer) return answer;
    const found = isJsonObject(answer.json) ? answer.json : {};
    const uri = found["jwks_uri"];
    const isTheirs =
      found["issuer"] === issuer && typeof uri === "string" && isFetchable(uri, issuer);
    return isTheirs ? uri : { failure: "discovery_mismatch" };
  }
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
export function finderOf(keys: readonly JsonValue[]): KeyFinder {
  const usable = keys.filter(
    (key): key is JsonObject & JSONWebKeySet["keys"][number] =>
      isJsonObject(key) && typeof key["kty"] === "string" && key["kty"] !== "oct",
  );
  return createLocalJWKSet({ keys: usable });
}
