import { Pool, type Dispatcher } from "undici";
import type { ProviderRow, RoutingTable } from "../canon/table.ts";

/** Everything that a call to one provider needs and that does not change from call to call. */
export interface Connection {
  readonly provider: ProviderRow;
  readonly dispatcher: Dispatcher;
  /** Path of the base URL, without a slash at the end. */
  readonly pathPrefix: string;
  /** Names and values by turns, credentials included; never logged. */
  readonly headers: readonly string[];
  /** The simulated upstream answers for this provider. */
  readonly simulated: boolean;
  /** Shared by every connection to the provider, so that a reload does not double its limit. */
  readonly gate: Gate;
}

/** A provider's calls under way; one more than `maxConcurrency` is not queued but tried elsewhere. */
export interface Gate {
  inFlight: number;
}

/** How a provider is reached: its own host with its secret, or the simulated upstream; `null` leaves it out. */
export interface Access {
  readonly secret: string | null;
  /** Scheme and host of the simulated upstream that stands in for the provider. */
  readonly simulatedOrigin: string | null;
}

interface PooledConnection {
  readonly dispatcher: Pool;
  users: number;
}

/**
 * Connection pools by provider, shared by all tables of a process. Providers at one origin have a pool each: none can take another's connections. A table takes what it needs and gives it back when its last request has
 * ended: a pool is closed only when nobody uses it (lessons.md, F32), so a reload keeps connections warm.
 */
export class ConnectionPools {
  readonly #pools = new Map<string, PooledConnection>();
  readonly #gates = new Map<string, { readonly gate: Gate; users: number }>();

  /** Connections for every provider that `access` gives a way to. Call `release` once, when they are no longer used. */
  acquire(
    table: RoutingTable,
    access: (provider: ProviderRow) => Access | null,
  ): { readonly connections: ReadonlyMap<string, Connection>; readonly release: () => Promise<void> } {
    const connections = new Map<string, Connection>();
    const taken: string[] = [];
    const gated: string[] = [];
    for (const provider of Object.values(table.providers)) {
      const way = access(provider);
      if (way === null) continue;
      const { origin } = new URL(way.simulatedOrigin ?? provider.baseUrl);
      const key = `${provider.id}|${origin}|${provider.maxConcurrency}|${provider.timeouts.connect}`;
      taken.push(key);
      gated.push(provider.id);
      connections.set(provider.id, {
        provider,
        dispatcher: this.#take(key, origin, provider),
        gate: this.#takeGate(provider.id),
        // The simulated upstream takes any prefix, so that what is tested is what will be called.
        pathPrefix: new URL(provider.baseUrl).pathname.replace(/\/$/, ""),
        headers: staticHeaders(provider, way),
        simulated: way.simulatedOrigin !== null,
      });
    }
    return { connections, release: () => this.#release(taken, gated) };
  }

  #take(key: string, origin: string, provider: ProviderRow): Dispatcher {
    const known = this.#pools.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known.dispatcher;
    }
    const dispatcher = new Pool(origin, {
      connections: provider.maxConcurrency,
      pipelining: 1,
      connect: { timeout: provider.timeouts.connect },
      // Deadlines are ours (exchange.ts): undici's own timers are half a second coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
    });
    this.#pools.set(key, { dispatcher, users: 1 });
    return dispatcher;
  }

  #takeGate(provider: string): Gate {
    const known = this.#gates.get(provider);
    if (known !== undefined) {
      known.users += 1;
      return known.gate;
    }
    const gate = { inFlight: 0 };
    this.#gates.set(provider, { gate, users: 1 });
    return gate;
  }

  async #release(keys: readonly string[], gated: readonly string[]): Promise<void> {
    for (const provider of gated) {
      const known = this.#gates.get(provider);
      if (known === undefined) continue;
      known.users -= 1;
      if (known.users === 0) this.#gates.delete(provider);
    }
    const unused: Pool[] = [];
    for (const key of keys) {
      const pooled = this.#pools.get(key);
      if (pooled === undefined) continue;
      pooled.users -= 1;
      if (pooled.users > 0) continue;
      this.#pools.delete(key);
      unused.push(pooled.dispatcher);
    }
    await Promise.all(unused.map((pool) => pool.close()));
  }

  /** Ends every connection, whoever uses it. For the end of the process. */
  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(({ dispatcher }) => dispatcher.destroy()));
  }
}

function staticHeaders(provider: ProviderRow, way: Access): readonly string[] {
  const headers = ["content-type", "application/json", "accept-encoding", "identity", "user-agent", "signalbox"];
  // A stand-in gets no credentials: they are not its to see.
  if (provider.auth.kind === "header" && way.secret !== null && way.simulatedOrigin === null) {
    headers.push(provider.auth.header, `${provider.auth.prefix}${way.secret}`);
  }
  return headers;
}
