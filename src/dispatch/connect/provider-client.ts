import { Client, type buildConnector, type Dispatcher } from "undici";
import type { Socket } from "node:net";
import { tolerateContinue } from "./interim-answers.ts";

/** The connection that carries a call, as the call sees it. */
export interface Carrier {
  /** The connection marks where an answer ends, whatever its headers are: it speaks HTTP/2. */
  readonly framesAnswers: boolean;
  /** A call begins. Gives whether the connection had been idle after earlier calls: its other end may have closed it meanwhile. */
  begin(): boolean;
  /** A call that had begun has ended. */
  end(): void;
}

/** A handler that is given the connection of its call before the call begins. */
export interface CarriedCall extends Dispatcher.DispatchHandler {
  carriedBy(carrier: Carrier): void;
}

/** One connection to a provider, made anew when it was lost. */
export class ProviderClient extends Client implements Carrier {
  readonly #connection: { used: boolean; running: number; multiplexed: boolean };

  constructor(origin: URL, options: Client.Options, connect: buildConnector.connector) {
    const connection = { used: false, running: 0, multiplexed: false };
    super(origin, {
      ...options,
      connect: (target, callback) => {
        connect(target, (...result) => {
          const [error, socket] = result;
          // The connector gives no socket with an error, although its types have one.
          if (error === null) {
            connection.used = false;
            connection.multiplexed = isMultiplexed(socket);
            if (!connection.multiplexed) tolerateContinue(socket);
          }
          callback(...result);
        });
      },
    });
    this.#connection = connection;
  }

  get framesAnswers(): boolean {
    return this.#connection.multiplexed;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isCarried(handler)) handler.carriedBy(this);
    return super.dispatch(options, handler);
  }

  begin(): boolean {
    const { used, running } = this.#connection;
    this.#connection.used = true;
    this.#connection.running += 1;
    return used && running === 0;
  }

  end(): void {
    this.#connection.running -= 1;
  }
}

function isMultiplexed(socket: Socket): boolean {
  return "alpnProtocol" in socket && socket.alpnProtocol === "h2";
}

function isCarried(handler: Dispatcher.DispatchHandler): handler is CarriedCall {
  return "carriedBy" in handler;
}
