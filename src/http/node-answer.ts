import type { ServerResponse } from "node:http";
import type { ClientAnswer } from "../dispatch/client-answer.ts";

/** The client's side over a node response. Nothing is re-wrapped: bytes go to the socket as they are (architecture.md, "Performance stance"). */
export class NodeAnswer implements ClientAnswer {
  readonly #response: ServerResponse;
  /** Headers that every answer carries; names and values by turns. */
  readonly #common: readonly string[];
  #sent = 0;

  constructor(response: ServerResponse, common: readonly string[]) {
    this.#response = response;
    this.#common = common;
    // A client that goes away in the middle of a write makes an error event; without a listener it would end the process.
    response.on("error", () => {});
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** Bytes handed over so far. */
  get sent(): number {
    return this.#sent;
  }

  start(status: number, headers: readonly string[]): void {
    if (!this.closed) this.#response.writeHead(status, [...this.#common, ...headers]);
  }

  write(bytes: Uint8Array): boolean {
    if (this.closed) return true;
    this.#sent += bytes.length;
    return this.#response.write(bytes);
  }

  end(bytes?: Uint8Array): void {
    if (this.closed) return;
    this.#sent += bytes?.length ?? 0;
    if (bytes === undefined) this.#response.end();
    else this.#response.end(bytes);
  }

  onClose(listener: () => void): void {
    this.#response.once("close", () => {
      if (!this.#response.writableFinished) listener();
    });
  }

  onDrain(listener: () => void): void {
    this.#response.on("drain", listener);
  }
}
