import type { AnswerStream, Ending } from "../../dialects/dialect.ts";

/** How long a stream is read after its client has disconnected. Its slot of `concurrency` is taken as long, and its refusals have a `Retry-After` of one second. Milliseconds. */
const TIME = 1_000;

/** How much of it. Bytes. */
const BYTES = 256 * 1024;

/**
 * Reads a stream whose client has disconnected, until the provider gives its usage or a bound is reached. Providers count at the end: without this, a client
 * that closes the connection before the last event would not be charged for what it took.
 */
export class ReadOn {
  readonly #stream: AnswerStream;
  readonly #onEnd: (ending: Partial<Ending>) => void;
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  /** @param onEnd ends the call, with how the answer ended where that is known. Called once. */
  constructor(stream: AnswerStream, onEnd: (ending: Partial<Ending>) => void) {
    this.#stream = stream;
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.stop(), TIME);
  }

  take(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    try {
      this.#stream.push(chunk);
    } catch {
      return this.stop();
    }
    if (this.#stream.done) this.close();
    else if (this.#stream.failure !== null || this.#bytes > BYTES) this.stop();
  }

  /** The provider's bytes have ended. */
  close(): void {
    try {
      const { ending } = this.#stream.end();
      this.#end(ending.failure === null ? ending : {});
    } catch {
      this.stop();
    }
  }

  stop(): void {
    this.#end({});
  }

  #end(ending: Partial<Ending>): void {
    clearTimeout(this.#timer);
    this.#onEnd(ending);
  }
}
