import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { InFlightList } from "../../dispatch/stop-order.ts";

interface OpenAnswer {
  readonly response: ServerResponse;
  readonly socket: Socket;
}

/** The answers of one listener that are under way, and how their connections end when it is to end. */
export class OpenAnswers {
  readonly #open = new InFlightList<OpenAnswer>();
  #retiring = false;

  constructor(server: Server) {
    server.prependListener("request", (incoming: IncomingMessage, response: ServerResponse) => {
      response.on("close", this.#open.enter({ response, socket: incoming.socket }));
      if (this.#retiring) response.shouldKeepAlive = false;
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether an answer has begun on the connection and not ended. */
  hasBegunOn(socket: Duplex): boolean {
    let hasBegun = false;
    this.#open.each((answer) => {
      if (answer.socket === socket && answer.response.headersSent) hasBegun = true;
    });
    return hasBegun;
  }

  /**
   * From now on every answer ends its connection, and says so (`connection: close`) where it has not begun: a client that keeps its connection would lose
   * the request that it sends in the moment in which we close it.
   */
  retire(): void {
    if (this.#retiring) return;
    this.#retiring = true;
    this.#open.each(({ response, socket }) => {
      if (!response.headersSent) response.shouldKeepAlive = false;
      else if (response.writableFinished) socket.destroySoon();
      // Its head has promised the client to keep the connection: the end comes with the last byte.
      else response.once("finish", () => socket.destroySoon());
    });
  }
}
