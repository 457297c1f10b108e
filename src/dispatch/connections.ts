import type { LookupFunction } from "node:net";
import { Pool, type buildConnector, type Dispatcher } from "undici";
import { canonicalJson } from "../canon/json.ts";
import type { EndpointRow, ProviderRow, QueueSettings, RoutingTable } from "../canon/table.ts";
import type { FindProxy } from "./egress-proxy.ts";
import { guardedConnector, ProviderClient, type Reach } from "./provider-client.ts";
import {
  concurrencyLimiter,
  type ConcurrencyLimiter,
  limiterOf,
  type EndpointLimiter,
} from "./concurrency-limiter.ts";

/** Constants of all calls to one provider. */
export interface Connection {
  readonly provider: ProviderRow;
  readonly dispatcher: Dispatcher;
  /** The same, with a connection for each call that is closed after it. */
  readonly freshDispatcher: Dispatcher;
  /** Scheme and host. */
  readonly origin: string;
  /** Path of the base URL, without a trailing slash. */
  readonly pathPrefix: string;
  /** Alternating names and values, credentials included; never logged. */
  readonly headers: readonly string[];
  /** Makes the credentials of each call; absent where `headers` has them. */
  readonly authorize?: Authorize;
  /** The simulated upstream answers for this provider. */
  readonly simulated: boolean;
  /** Calls go through a forward proxy. */
  readonly proxied: boolean;
  /**
   * Shared by every connection to the provider, so that a reload does not double its limit; the
   * latest table's limits apply.
   */
  readonly limiter: ConcurrencyLimiter;
  /** Limits of those endpoints that have their own, by endpoint id. */
  readonly endpointLimiters: ReadonlyMap<string, ConcurrencyLimiter>;
  /**
   * The limiter of an endpoint: its own limit, if any, and the provider's.
   *
   * @throws {Error} for a row of another table or provider, which is a bug of the caller.
   */
  readonly limiterOf: (endpoint: EndpointRow) => EndpointLimiter;
}

/**
 * How to reach a provider: its own host with its secret, or the simulated upstream; `null` leaves
 * it out.
 */
export interface Access {
  readonly secret: string | null;
  /** Scheme and host of the simulated upstream that replaces the provider. */
  readonly simulatedOrigin: string | null;
  /**
   * Makes credentials for each call, where the provider has such; called unless one is in use
   * already.
   */
  readonly makeAuthorize?: () => Authorize | null;
}

export type ConnectionPools = ReturnType<typeof connectionPools>;

/**
 * Connection pools by provider, shared by all tables of a process. Providers at one origin have a
 * pool each, so that none uses up another's connections. A table releases its pools after its last
 * request, and a pool is closed when no table uses it: a reload keeps connections warm and closes
 * none in use, which stopped LiteLLM in production (BerriAI/litellm#22247).
 *
 * @param resolve resolves a provider's host; by default the machine's resolver. @param findProxy
 * forward proxies of calls; none by default.
 */
export function connectionPools(resolve?: LookupFunction, findProxy: FindProxy | null = null) {
  const pools = new Shared<Pools>(({ keepAlive, singleUse }) =>
    Promise.all([keepAlive.close(), singleUse.close()]),
  );
  /** By provider id. */
  const limitersOfProviders = new Shared<ConcurrencyLimiter>();
  /** By endpoint id; only for endpoints with their own limit. */
  const limitersOfEndpoints = new Shared<ConcurrencyLimiter>();
  /**
   * Shared too: a reload requests no new tokens, and keeps valid ones while their issuer is down.
   */
  const authorizers = new Shared<Authorize | null>();

  function connect(
    provider: ProviderRow,
    endpoints: readonly EndpointRow[],
    way: Access,
    releases: Release[],
  ): Connection {
    const { origin, pathname } = new URL(provider.baseUrl);
    const target = way.simulatedOrigin === null ? origin : new URL(way.simulatedOrigin).origin;
    // The row's bound on addresses does not apply to our own simulated provider.
    const reach = way.simulatedOrigin === null ? reachOf(provider) : "any";
    const pool = `${provider.id}|${target}|${provider.maxConcurrency}|${provider.timeouts.connect}|${reach}`;
    const limiter = takeLimiter(
      limitersOfProviders,
      provider.id,
      provider.maxConcurrency,
      provider.queue,
      releases,
    );
    const endpointLimiters = takeEndpointLimiters(provider, endpoints, releases);
    const authorize = authorizer(provider, way, releases);
    const { timeouts } = provider;
    const connector = (allowsHttp2: boolean) =>
      guardedConnector(timeouts.connect, reach, resolve, allowsHttp2, findProxy);
    const { keepAlive, singleUse } = pools.take(pool, releases, () => ({
      keepAlive: openPool(target, provider, 1, connector(true)),
      singleUse: openPool(target, provider, 0, connector(false)),
    }));
    return {
      provider,
      origin: target,
      dispatcher: keepAlive,
      freshDispatcher: singleUse,
      limiter,
      endpointLimiters,
      limiterOf: limiterOf(limiter, endpointLimiters, endpoints),
      // The simulated upstream accepts any prefix, so tests use the same path as production.
      pathPrefix: pathname.replace(/\/$/, ""),
      headers: staticHeaders(provider, way),
      ...(authorize === null ? {} : { authorize }),
      simulated: way.simulatedOrigin !== null,
      proxied: reach !== "any" && (findProxy?.(new URL(target)) ?? null) !== null,
    };
  }

  /** Endpoints have no queue of their own: they use the settings of their provider's row. */
  function takeEndpointLimiters(
    provider: ProviderRow,
    endpoints: readonly EndpointRow[],
    releases: Release[],
  ): ReadonlyMap<string, ConcurrencyLimiter> {
    const limiters = new Map<string, ConcurrencyLimiter>();
    for (const { id, maxConcurrency } of endpoints) {
      if (maxConcurrency === null) continue;
      limiters.set(
        id,
        takeLimiter(limitersOfEndpoints, id, maxConcurrency, provider.queue, releases),
      );
    }
    return limiters;
  }

  /** The simulated upstream must not see credentials. */
  function authorizer(provider: ProviderRow, way: Access, releases: Release[]): Authorize | null {
    if (way.makeAuthorize === undefined || way.simulatedOrigin !== null) return null;
    const key = `${provider.id}|${provider.baseUrl}|${provider.timeouts.connect}|${canonicalJson(provider.auth)}`;
    return authorizers.take(key, releases, way.makeAuthorize);
  }

  return {
    /**
     * Connections for every provider that `access` can reach. Call `releaseConnections` once, when
     * they are no longer used.
     */
    acquire(
      table: RoutingTable,
      access: (provider: ProviderRow) => Access | null,
    ): {
      readonly connections: ReadonlyMap<string, Connection>;
      readonly releaseConnections: () => Promise<void>;
    } {
      const connections = new Map<string, Connection>();
      const releases: Release[] = [];
      const endpoints = Map.groupBy(
        Object.values(table.endpoints),
        (endpoint) => endpoint.provider,
      );
      for (const provider of Object.values(table.providers)) {
        const way = access(provider);
        if (way === null) continue;
        connections.set(
          provider.id,
          connect(provider, endpoints.get(provider.id) ?? [], way, releases),
        );
      }
      return {
        connections,
        releaseConnections: async () =>
          void (await Promise.all(releases.map((release) => release()))),
      };
    },
    /** Closes every connection, including those in use. For the end of the process. */
    async destroy(): Promise<void> {
      authorizers.clear();
      await Promise.all(
        pools
          .clear()
          .flatMap(({ keepAlive, singleUse }) => [keepAlive.destroy(), singleUse.destroy()]),
      );
    },
  };
}

/** Connections to one provider. */
interface Pools {
  /** Kept alive between calls. */
  readonly keepAlive: Pool;
  /** One call each. */
  readonly singleUse: Pool;
}

/** The limiter under the id; an existing one gets these limits. */
function takeLimiter(
  limiters: Shared<ConcurrencyLimiter>,
  id: string,
  limit: number,
  queue: QueueSettings,
  releases: Release[],
): ConcurrencyLimiter {
  const limiter = limiters.take(id, releases, () => concurrencyLimiter(limit, queue));
  limiter.setLimits(limit, queue);
  return limiter;
}

/**
 * @param pipelining 1: connections carry one call after another; 0: each carries one call and is
 * closed.
 */
function openPool(
  origin: string,
  provider: ProviderRow,
  pipelining: 0 | 1,
  connect: buildConnector.connector,
) {
  return new Pool(origin, {
    connections: provider.maxConcurrency,
    pipelining,
    factory: (url, options) => new ProviderClient(url, options, connect),
    // exchange.ts has its own deadlines: undici's timers have a resolution of half a second.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  });
}

/**
 * Plain http is for internal networks only: outside, prompts and keys would be readable on the way.
 */
function reachOf({ network, plaintext }: ProviderRow): Reach {
  return plaintext === true ? "inside" : (network ?? "public");
}

function staticHeaders(provider: ProviderRow, way: Access): readonly string[] {
  const headers = [
    "content-type",
    "application/json",
    "accept-encoding",
    "identity",
    "user-agent",
    "signalbox",
  ];
  // The simulated upstream must not see credentials.
  if (provider.auth.kind === "header" && way.secret !== null && way.simulatedOrigin === null) {
    headers.push(provider.auth.header, `${provider.auth.prefix}${way.secret}`);
  }
  return headers;
}

/** Releases a value, once. */
type Release = () => unknown;

/** Values by key that live while they are in use. */
class Shared<Value> {
  readonly #entries = new Map<string, { readonly value: Value; users: number }>();
  readonly #close: (value: Value) => unknown;

  /** @param close called with a value when its last user releases it. */
  constructor(close: (value: Value) => unknown = () => undefined) {
    this.#close = close;
  }

  /** The value under the key, made where none is in use. @param releases receives its release. */
  take(key: string, releases: Release[], make: () => Value): Value {
    const existing = this.#entries.get(key);
    const entry = existing ?? { value: make(), users: 0 };
    if (existing === undefined) this.#entries.set(key, entry);
    entry.users += 1;
    releases.push(() => {
      entry.users -= 1;
      if (entry.users > 0 || this.#entries.get(key) !== entry) return undefined;
      this.#entries.delete(key);
      return this.#close(entry.value);
    });
    return entry.value;
  }

  /** Forgets and returns all values, including those in use. */
  clear(): readonly Value[] {
    const values = [...this.#entries.values()].map(({ value }) => value);
    this.#entries.clear();
    return values;
  }
}

/** A call as sent, as far as a signature covers it. */
export interface OutgoingRequest {
  readonly method: string;
  /** The path of the request line: base URL's path and query included. */
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body: string;
}

/**
 * Returns the headers that authenticate a call, alternating names and values. Rejects where there
 * are none; the reason must not be shown.
 */
export type Authorize = (
  request: OutgoingRequest,
) => readonly string[] | Promise<readonly string[]>;
