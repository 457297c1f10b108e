import type { ServerResponse } from "node:http";
import type { ClientAnswer } from "../dispatch/client/client-answer.ts";
import type { RelayOutcome } from "../dispatch/relay-job.ts";

/** The client's side over a node response. Bytes go to the socket without a web stream between (docs/architecture.md#performance). */
export class NodeAnswer implements ClientAnswer {
  readonly #response: ServerResponse;
  /** Headers that every answer carries; names and values by turns. */
  readonly #common: readonly string[];
  readonly #writeTime: number;
  #sent = 0;

  /** @param writeTime longest time that the client may take to read the rest once the answer has been handed over, milliseconds. */
  constructor(response: ServerResponse, common: readonly string[], writeTime: number) {
    this.#response = response;
    this.#writeTime = writeTime;
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
    boundWriting(this.#response, this.#writeTime);
  }

  /**
   * Whether an answer that has ended got out of this process, to its last byte: at once where the kernel has taken it, else when it has, or
   * when the client has gone.
   */
  delivered(): boolean | Promise<boolean> {
    const response = this.#response;
    if (response.writableFinished) return true;
    if (response.destroyed) return false;
    if (response.writableEnded && response.writableLength === 0) return true;
    return new Promise((resolve) => {
      // One of them comes: the time to read is bounded.
      response.once("finish", () => resolve(true));
      response.once("close", () => resolve(response.writableFinished));
    });
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

/** Takes back what a client does not read: an answer of megabytes would otherwise stay in memory as long as its socket. */
export function boundWriting(response: ServerResponse, writeTime: number): void {
  if (response.writableFinished || response.destroyed || response.writableLength === 0) return;
  const timer = setTimeout(() => response.destroy(), writeTime);
  response.once("close", () => clearTimeout(timer));
}

/**
 * The outcome once the client has the answer: one that is handed over, and that the client leaves unread, has not been completed. Until then
 * the request holds what it has taken: its memory is not free.
 */
export async function untilDelivered(outcome: RelayOutcome, client: NodeAnswer): Promise<RelayOutcome> {
  const { terminal } = outcome;
  if (outcome.error !== null || terminal === "client_closed") return outcome;
  const isWhole = client.delivered();
  if (isWhole === true || (await isWhole) || terminal === "failed") return outcome;
  return { ...outcome, terminal: "client_closed" };
}
