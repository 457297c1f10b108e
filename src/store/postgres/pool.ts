import postgres from "postgres";
import { connect, type Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { NO_ANSWER, StatementFailure, toFailure } from "./failure.ts";
import type { PostgresSettings } from "./settings.ts";
import type { Row } from "../rows.ts";

/** Bytes as `bytea`. */
export type Parameter = string | number | boolean | null | Uint8Array;

/** Runs one statement on one connection. */
export type Query = (text: string, parameters?: readonly Parameter[]) => Promise<readonly Row[]>;

/** Bounds of one pool's connections; milliseconds. */
interface PoolBounds {
  readonly connections: number;
  /** The server ends a statement that takes longer. */
  readonly statementTimeout: number;
}

interface PoolHooks {
  /** A notification came on a channel that was listened to. */
  readonly onNotification?: () => void;
  /** A connection ended. */
  readonly onClosed?: () => void;
}

/** Numbers as the port has them: milliseconds, positions and versions, all far below 2^53. */
const INT8 = { to: 20, from: [20], parse: Number, serialize: String };

/** Options of the driver that its types lack. */
interface DriverOptions extends postgres.Options<{ int8: typeof INT8 }> {
  readonly socket: () => Socket;
  readonly onnotify: (() => void) | undefined;
}

/** Some connections to the server, opened when first needed. */
export class Pool {
  readonly #sql: postgres.Sql;
  readonly #sockets = new Set<Socket>();

  constructor(settings: PostgresSettings, bounds: PoolBounds, hooks: PoolHooks = {}) {
    const options: DriverOptions = {
      // Only for the driver's own bookkeeping: the connection is made by `socket` below.
      host: settings.host ?? "localhost",
      port: settings.port,
      ...(settings.user !== undefined && { user: settings.user }),
      ...(settings.password !== undefined && { password: settings.password }),
      ...(settings.database !== undefined && { database: settings.database }),
      ssl: tlsOptions(settings),
      socket: () => this.#connect(settings),
      max: bounds.connections,
      // Its timer would count the time for which this process is busy. Every call has a bound of
      // its own, and the link destroys a pool that is silent.
      connect_timeout: 0,
      idle_timeout: 0,
      // Array types are not used; looking them up would cost a round trip a connection.
      fetch_types: false,
      types: { int8: INT8 },
      onnotice: () => undefined,
      onnotify: hooks.onNotification,
      ...(hooks.onClosed !== undefined && { onclose: hooks.onClosed }),
      connection: {
        application_name: "signalbox",
        statement_timeout: bounds.statementTimeout,
        // A replica that stops in the middle must not keep its locks.
        idle_in_transaction_session_timeout: bounds.statementTimeout,
        default_transaction_isolation: "read committed",
        search_path: "pg_catalog, signalbox",
        client_encoding: "UTF8",
        // Without statistics, reading and sorting a whole table for one page seems cheap.
        enable_sort: "off",
        // Up to PostgreSQL 17 a sort that is "off" seems so dear that it would be compiled first.
        jit: "off",
      },
    };
    this.#sql = postgres(options);
  }

  /** Runs one statement. @param bound longest wait, milliseconds @throws {StatementFailure} */
  query(text: string, parameters: readonly Parameter[], bound: number): Promise<readonly Row[]> {
    return within(bound, this.#sql.unsafe<Row[]>(text, [...parameters], { prepare: true }));
  }

  /** Runs `action` on one connection; it gets a function as {@link query}. */
  async onOneConnection<Result>(
    bound: number,
    action: (query: Query) => Promise<Result>,
  ): Promise<Result> {
    const reserved = await within(bound, this.#sql.reserve());
    try {
      return await action((text, parameters = []) =>
        within(bound, reserved.unsafe<Row[]>(text, [...parameters])),
      );
    } finally {
      reserved.release();
    }
  }

  /** Ends all connections, without waiting for statements. */
  async destroy(): Promise<void> {
    const ended = this.#sql.end({ timeout: 0 });
    await ended.catch(() => undefined);
    // The driver waits for an answer to its termination message, which a dead peer never sends.
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect({ host, port, socketPath }: PostgresSettings): Socket {
    const socket =
      socketPath === null
        ? connect({ host: host ?? "localhost", port })
        : connect({ path: socketPath });
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 10_000);
    // The driver takes the name to ask for in TLS from here.
    if (host !== null) Object.assign(socket, { host });
    // A listener for its end would be removed by the driver, which removes all of them.
    for (const former of this.#sockets) if (former.destroyed) this.#sockets.delete(former);
    this.#sockets.add(socket);
    return socket;
  }
}

/** The driver gives no name for an address; Node would verify `localhost` then. */
function tlsOptions({ host, tls }: PostgresSettings): false | object {
  if (tls === false || host === null) return false;
  return {
    ...tls,
    checkServerIdentity: (_: string, peer: PeerCertificate) => checkServerIdentity(host, peer),
  };
}

/** A timer that fires later than this shows a busy process, milliseconds. */
const BUSY = 100;

/** Pauses of this process that do not count; one that is busy all the time must give up too. */
const PARDONS = 4;

/**
 * Gives up after `bound` milliseconds. Time in which this process was too busy to read an answer,
 * as during a start on a slow machine, does not count, at most {@link PARDONS} times.
 *
 * @throws {StatementFailure}
 */
async function within<Result>(bound: number, work: PromiseLike<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  let due = performance.now() + bound;
  let pardons = PARDONS;
  const look = (): void => {
    const now = performance.now();
    const late = now - due;
    if (late <= BUSY || pardons === 0) return reject(new StatementFailure(NO_ANSWER));
    pardons -= 1;
    const more = Math.min(late, bound);
    due = now + more;
    timer = setTimeout(look, more);
  };
  let timer = setTimeout(look, bound);
  try {
    return await Promise.race([work, promise]);
  } catch (error) {
    throw toFailure(error);
  } finally {
    clearTimeout(timer);
  }
}

/** A `text[]` as a text that PostgreSQL reads; the driver knows no array types. */
export function textArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
