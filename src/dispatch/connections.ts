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
  /** Calls under way; one more than `maxConcurrency` is not queued but tried elsewhere. */
  readonly gate: { inFlight: number };
}

/** How a provider is reached: its own host with its secret, or the simulated upstream; `null` leaves it out. */
export interface Access {
  readonly secret: string | null;
  /** Base URL of the simulated upstream that stands in for the provider. */
  readonly simulatedBaseUrl: string | null;
}

interface PooledConnection {
  readonly dispatcher: Pool;
  readonly gate: { inFlight: number };
  users: number;
}

/**
 * Connection pools by origin, shared by all tables of a process. A table takes what it needs and gives it back when its last request has
 * ended: a pool is closed only when nobody uses it (lessons.md, F32), so a reload keeps connections warm.
 */
export class ConnectionPools {
  readonly #pools = new Map<string, PooledConnection>();

  /** Connections for every provider that `access` gives a way to. Call `release` once, when they are no longer used. */
  acquire(
    table: RoutingTable,
    access: (provider: ProviderRow) => Access | null,
  ): { readonly connections: ReadonlyMap<string, Connection>; readonly release: () => Promise<void> } {
    const connections = new Map<string, Connection>();
    const taken: string[] = [];
    for (const provider of Object.values(table.providers)) {
      const way = access(provider);
      if (way === null) continue;
      const url = new URL(way.simulatedBaseUrl ?? provider.baseUrl);
      const key = `${url.origin}|${provider.maxConcurrency}|${provider.timeouts.connect}`;
      taken.push(key);
      connections.set(provider.id, {
        provider,
        ...this.#take(key, url.origin, provider),
        pathPrefix: url.pathname.replace(/\/$/, ""),
        headers: staticHeaders(provider, way),
        simulated: way.simulatedBaseUrl !== null,
      });
    }
    return { connections, release: () => this.#release(taken) };
  }

  #take(key: string, origin: string, provider: ProviderRow): Pick<Connection, "dispatcher" | "gate"> {
    const known = this.#pools.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known;
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
    const made = { dispatcher, gate: { inFlight: 0 }, users: 1 };
    this.#pools.set(key, made);
    return made;
  }

  async #release(keys: readonly string[]): Promise<void> {
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
  if (provider.auth.kind === "header" && way.secret !== null && way.simulatedBaseUrl === null) {
    headers.push(provider.auth.header, `${provider.auth.prefix}${way.secret}`);
  }
  return headers;
}
