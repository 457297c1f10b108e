import { buildConnector, Client, type Dispatcher } from "undici";
import type { Socket, LookupFunction } from "node:net";
import { lookup as askDns, type LookupAddress } from "node:dns";
import { type FindProxy, throughProxy } from "./egress-proxy.ts";
import { addressKind, hostKind } from "../network/address.ts";

/** A handler that is given the connection of its call before the call begins. */
export interface CarriedCall extends Dispatcher.DispatchHandler {
  carriedBy(carrier: ProviderClient): void;
}

interface ConnectionState {
  used: boolean;
  running: number;
  multiplexed: boolean;
  ownsReads: boolean;
}

/** One connection to a provider, reopened after a loss. */
export class ProviderClient extends Client {
  readonly #connection: ConnectionState;

  constructor(origin: URL, options: Client.Options, connect: buildConnector.connector) {
    const connection: ConnectionState = {
      used: false,
      running: 0,
      multiplexed: false,
      ownsReads: false,
    };
    super(origin, {
      ...options,
      connect: (target, callback) => {
        connect(target, (...result) => {
          const [error, socket] = result;
          // The connector gives no socket with an error, although its types have one.
          if (error === null) {
            connection.used = false;
            connection.multiplexed = isMultiplexed(socket);
            if (!connection.multiplexed) followReads(socket, connection);
          }
          callback(...result);
        });
      },
    });
    this.#connection = connection;
  }

  /** HTTP/2 marks the end of an answer itself, whatever its headers are. */
  get framesAnswers(): boolean {
    return this.#connection.multiplexed;
  }

  /** All data read since the call began is in memory that nothing else uses. */
  get ownsReads(): boolean {
    return this.#connection.ownsReads;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (isCarriedCall(handler)) handler.carriedBy(this);
    return super.dispatch(options, handler);
  }

  /**
   * A call begins. @returns whether the connection was idle after earlier calls: its other end may
   * have closed it.
   */
  begin(): boolean {
    const { used, running } = this.#connection;
    this.#connection.used = true;
    this.#connection.running += 1;
    // HTTP/2 reads the answers of several calls into shared memory.
    this.#connection.ownsReads = !this.#connection.multiplexed;
    return used && running === 0;
  }

  /** A call that had begun has ended. */
  endCall(): void {
    this.#connection.running -= 1;
  }
}

function isMultiplexed(socket: Socket) {
  return "alpnProtocol" in socket && socket.alpnProtocol === "h2";
}

function isCarriedCall(handler: Dispatcher.DispatchHandler): handler is CarriedCall {
  return "carriedBy" in handler;
}

/** A status line up to its status; any digit may follow the dot of the version. */
const STATUS_LINE = Buffer.from("HTTP/1.1 100");
const VERSION_DIGIT = 7;
const HUNDREDS_DIGIT = 9;
const LAST_DIGIT = 11;

const ZERO = 0x30;
const ONE = 0x31;
const TWO = 0x32;
const LF = 10;
const CR = 13;

/**
 * Notes whether reads of a connection of HTTP/1.1 have memory of their own, and lets a provider
 * send `100 Continue` to a request that did not ask for it: a client must be able to parse and may
 * ignore any 1xx (RFC 9110 §15.2), but undici resets the connection on 100 alone. The status is
 * read as 102, which undici ignores like 103. No other byte changes, and nothing after the head of
 * the final answer is looked at.
 */
function followReads(socket: Socket, connection: ConnectionState) {
  const heads = new InterimHeads();
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket);
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (!(chunk instanceof Uint8Array)) return chunk;
    // Node joins small pieces in a shared pool.
    if (chunk.length < Buffer.poolSize >>> 1 && chunk.length !== chunk.buffer.byteLength)
      connection.ownsReads = false;
    if (heads.expected) heads.pass(chunk);
    return chunk;
  };
  // HTTP/1.1 connections are not shared by calls: a write is a request, and the next read begins
  // its answer.
  const expecting = (...parameters: Parameters<typeof write>): boolean => {
    heads.expect();
    return write(...parameters);
  };
  Object.defineProperty(socket, "write", { value: expecting, configurable: true, writable: true });
}

/** Follows heads of answers through arbitrary chunks. */
class InterimHeads {
  #expected = false;
  /** Bytes of the status line so far, up to its status. */
  #statusBytes = 0;
  #interim = false;
  /** The current line is empty so far: its end ends the head. */
  #lineIsEmpty = false;

  /** The head of the final answer has not come yet. */
  get expected(): boolean {
    return this.#expected;
  }

  /** The next byte begins an answer. */
  expect(): void {
    this.#expected = true;
    this.#begin();
  }

  /** Turns every 100 before the final head into 102, in place. */
  pass(chunk: Uint8Array): void {
    for (let index = 0; index < chunk.length && this.#expected; index += 1) {
      if (this.#statusBytes < STATUS_LINE.length) this.#readStatus(chunk, index);
      else this.#readHead(chunk[index] ?? 0);
    }
  }

  #begin() {
    this.#statusBytes = 0;
    this.#interim = false;
    this.#lineIsEmpty = false;
  }

  #readStatus(chunk: Uint8Array, index: number) {
    const byte = chunk[index] ?? 0;
    const position = this.#statusBytes;
    this.#statusBytes += 1;
    if (position === VERSION_DIGIT) return;
    if (position < HUNDREDS_DIGIT) {
      // Not HTTP/1: left to the parser.
      if (byte !== STATUS_LINE[position]) this.#expected = false;
    } else if (position === HUNDREDS_DIGIT) {
      if (byte !== ONE) this.#expected = false;
      this.#interim = byte === ONE;
    } else if (position === LAST_DIGIT) {
      if (this.#interim && byte === ZERO) chunk[index] = TWO;
    } else if (byte !== ZERO) {
      this.#interim = false;
    }
  }

  /** The rest of an interim head, up to its empty line. */
  #readHead(byte: number): void {
    if (byte === LF && this.#lineIsEmpty) return this.#begin();
    if (byte === LF) this.#lineIsEmpty = true;
    else if (byte !== CR) this.#lineIsEmpty = false;
  }
}

/**
 * Allowed addresses: `public`: the internet only; `private`: also internal networks; `inside`:
 * internal networks only; `any`: for addresses chosen by the router itself.
 */
export type Reach = "public" | "private" | "inside" | "any";

/** Error code of a connection to an address that is not allowed. */
export const ADDRESS_REFUSED = "SBX_ADDRESS_REFUSED";

/** The host's name, or one of its addresses, is not allowed by the provider's row. */
class AddressRefusedError extends Error {
  readonly code = ADDRESS_REFUSED;
}

/**
 * Connections that only go where the row of a provider lets them. The address that the socket is
 * about to be connected to is checked at every connection, so a name that resolves to another
 * address than a moment ago (DNS rebinding) gains nothing.
 *
 * @param timeout until a connection stands, milliseconds.
 * @param resolve looks up the addresses of a name.
 * @param allowsHttp2 HTTP/2 is spoken with providers that offer it; its connections cannot be had
 * for one call alone.
 * @param findProxy forward proxies; they resolve names themselves, so only written addresses and
 * reserved names are judged where one is used.
 */
export function guardedConnector(
  timeout: number,
  reach: Reach,
  resolve: LookupFunction = askDns,
  allowsHttp2 = true,
  findProxy: FindProxy | null = null,
): buildConnector.connector {
  const direct = buildConnector({
    timeout,
    lookup: guardedLookup(reach, resolve),
    allowH2: allowsHttp2,
  });
  const connect =
    findProxy === null || reach === "any" ? direct : throughProxy(findProxy, direct, timeout);
  return (options, callback) => {
    // A literal address is connected to without a lookup, so it is checked here.
    const kind = hostKind(options.hostname);
    if (kind !== null && !allowsAddress(reach, kind))
      callback(new AddressRefusedError("address refused"), null);
    else connect(options, callback);
  };
}

/**
 * A lookup that returns allowed addresses only. One other address refuses all: a name that resolves
 * to both is treated as an attack.
 */
export function guardedLookup(reach: Reach, resolve: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, options, (error, address, family) => {
      if (error !== null) return callback(error, address, family);
      const found: readonly Pick<LookupAddress, "address">[] = Array.isArray(address)
        ? address
        : [{ address }];
      if (found.every((one) => allowsAddress(reach, addressKind(one.address))))
        return callback(null, address, family);
      callback(new AddressRefusedError("address refused"), address, family);
    });
  };
}

function allowsAddress(reach: Reach, kind: ReturnType<typeof addressKind>): boolean {
  if (reach === "any") return true;
  return kind === "public" ? reach !== "inside" : kind === "private" && reach !== "public";
}
