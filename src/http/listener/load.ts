import type { IncomingMessage, ServerResponse } from "node:http";
import { serviceError, type ServiceError } from "../../canon/error.ts";

export type NodeHandler = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Milliseconds after which one of the requests under way may have ended. */
const RETRY = 1_000;

/** Refuses what would be too much at once, before anything of it is read: a request holds its body and, unless it is streamed, its answer. */
export class Load {
  readonly #most: number;
  readonly #refuse: NodeHandler;
  #running = 0;

  /** @param most requests at once; no bound where absent. */
  constructor(most: number | undefined, refuse: NodeHandler) {
    this.#most = most ?? Number.POSITIVE_INFINITY;
    this.#refuse = refuse;
  }

  /** The handler, where there is room for what it handles. All handlers of one load share the room. */
  bound(handler: NodeHandler): NodeHandler {
    return async (incoming, response) => {
      if (this.#running >= this.#most) return this.#refuse(incoming, response);
      this.#running += 1;
      try {
        await handler(incoming, response);
      } finally {
        this.#running -= 1;
      }
    };
  }
}

export function overloaded(): ServiceError {
  return serviceError(
    503,
    "unavailable",
    "server_overloaded",
    "As many requests are under way as this server takes at once. Try again in a moment.",
    { retryAfter: RETRY },
  );
}
