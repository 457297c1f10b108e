import { setTimeout as delay } from "node:timers/promises";

import { StoreUnavailableError } from "../../canon/error.ts";
import { COMMON_SQL, type RunCommon } from "../common-tables.ts";
import { NO_ANSWER, StatementFailure } from "./failure.ts";
import { migrate } from "./migrate.ts";
import { Pool, type Parameter, type PoolBounds, type Row } from "./pool.ts";
import type { PostgresSettings } from "./settings.ts";

/** Milliseconds. */
export interface LinkBounds {
  /** The server ends a statement that takes longer. */
  readonly statementTimeout: number;
  /** Longest time to a usable connection, and longest wait of a probe. */
  readonly connectTimeout: number;
  /** From a failed probe to the next. */
  readonly probeInterval: number;
}

export const DEFAULT_LINK_BOUNDS: LinkBounds = {
  statementTimeout: 3_000,
  connectTimeout: 2_000,
  probeInterval: 1_000,
};

/** How much longer this process waits than the server may take, milliseconds: the round trip. */
const WAY = 1_000;

const CONNECTIONS = 4;

/** How long calls wait for the first probe, milliseconds: one cut connection is no outage. */
const SUSPICION = 250;

/** Usable means able to write: after a failover the old address may lead to a standby. */
const PROBE = "SELECT current_setting('transaction_read_only') = 'off' AS usable";

const AWAY = "PostgreSQL cannot be used now; the server tries again every second";

/** Statements to one server, with a breaker: while it is away, calls fail at once. */
export class PostgresLink {
  readonly #settings: PostgresSettings;
  readonly #bounds: LinkBounds;
  readonly #ended = new AbortController();
  readonly #listeners = new Set<() => void>();
  #pool: Pool;
  #state: "available" | "suspected" | "away" = "available";

  private constructor(settings: PostgresSettings, bounds: LinkBounds) {
    this.#settings = settings;
    this.#bounds = bounds;
    this.#pool = this.#newPool();
  }

  /** @param create whether an empty database gets the schema. @throws {StoreUnavailableError} */
  static async open(
    settings: PostgresSettings,
    create: boolean,
    bounds: LinkBounds,
  ): Promise<PostgresLink> {
    const link = new PostgresLink(settings, bounds);
    try {
      const rows = await link.#pool.query(PROBE, [], bounds.connectTimeout + WAY);
      if (rows[0]?.usable !== true) throw new StatementFailure("25006");
      await migrate(link.#pool, create);
    } catch (error) {
      await link.close();
      if (!(error instanceof StoreUnavailableError)) throw error;
      throw new StoreUnavailableError(`the database could not be opened: ${error.message}`);
    }
    return link;
  }

  /** Whether calls are let through. */
  get available(): boolean {
    return this.#state === "available" && !this.#ended.signal.aborted;
  }

  /**
   * Runs one statement, a transaction of its own.
   *
   * @throws {StatementFailure} when it failed; with `away` whether it took effect is not known
   * @throws {StoreUnavailableError} at once while the server is away, or the link closed
   */
  async query(text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> {
    if (this.#ended.signal.aborted)
      throw new StoreUnavailableError("the store is closed", { done: "no" });
    if (this.#state === "suspected") await this.whenAvailable(SUSPICION);
    if (!this.available) throw new StoreUnavailableError(AWAY, { done: "no" });
    const pool = this.#pool;
    try {
      return await pool.query(text, parameters, this.#bounds.statementTimeout + WAY);
    } catch (error) {
      if (error instanceof StatementFailure && error.away)
        this.#lose(pool, error.code === NO_ANSWER);
      throw error;
    }
  }

  /** The same of a statement that SQLite has too. */
  readonly runCommon: RunCommon = (name, parameters) =>
    this.query(COMMON_SQL[name].replaceAll("?", "$"), parameters);

  /** Calls back whenever the server can be used again. Gives back a function that ends it. */
  onRestored(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when calls are let through, or `wait` milliseconds later at the latest. */
  async whenAvailable(wait: number): Promise<void> {
    if (this.available) return;
    const restored = Promise.withResolvers<void>();
    const end = this.onRestored(restored.resolve);
    const timer = setTimeout(restored.resolve, wait);
    await restored.promise;
    clearTimeout(timer);
    end();
  }

  /** A separate connection that listens on `channel`; the caller destroys it. */
  async listen(
    channel: "signalbox_keys",
    onNotification: () => void,
    onClosed: () => void,
  ): Promise<Pool> {
    const pool = this.#newPool(1, { onNotification, onClosed });
    try {
      await pool.query(`LISTEN ${channel}`, [], this.#bounds.connectTimeout + WAY);
      return pool;
    } catch (error) {
      await pool.destroy();
      throw error;
    }
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#pool.destroy();
  }

  #newPool(connections = CONNECTIONS, hooks: ConstructorParameters<typeof Pool>[2] = {}): Pool {
    const bounds: PoolBounds = { connections, statementTimeout: this.#bounds.statementTimeout };
    return new Pool(this.#settings, bounds, hooks);
  }

  #lose(pool: Pool, silent: boolean) {
    if (pool !== this.#pool || this.#state !== "available") return;
    this.#state = "suspected";
    // The driver replaces a cut connection, but would keep one that does not answer.
    if (silent) this.#replacePool();
    void this.#restore();
  }

  async #restore() {
    while (!this.#ended.signal.aborted) {
      if (await this.#probe()) {
        this.#state = "available";
        for (const listener of this.#listeners) listener();
        return;
      }
      this.#state = "away";
      this.#replacePool();
      await delay(this.#bounds.probeInterval, null, { signal: this.#ended.signal }).catch(
        () => undefined,
      );
    }
  }

  #replacePool() {
    void this.#pool.destroy();
    if (!this.#ended.signal.aborted) this.#pool = this.#newPool();
  }

  async #probe(): Promise<boolean> {
    try {
      const rows = await this.#pool.query(PROBE, [], this.#bounds.connectTimeout);
      return rows[0]?.usable === true;
    } catch {
      return false;
    }
  }
}

/**
 * The action, one run at a time. Calls during a run share the next one: a run that began earlier
 * may not see what its callers know.
 */
export function oneAtATime<Result>(action: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  let next: Promise<Result> | null = null;
  const run = (): Promise<Result> => {
    if (running === null) return (running = action().finally(() => (running = null)));
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = null;
        return run();
      });
    return next;
  };
  return run;
}
