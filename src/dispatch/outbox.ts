import type { ClientAnswer, Recording } from "./attempt.ts";
import type { AnswerStream, Ending } from "../dialects/dialect.ts";

/** Events that may wait for the decision to be on disk before the upstream is paused, bytes. */
const MAXIMUM_WAITING_BYTES = 256 * 1024;

/**
 * Events without output that are held until the first output; beyond them the answer counts as
 * begun. Bytes.
 */
const MAXIMUM_HELD_BYTES = 64 * 1024;

/**
 * How long events without output are held, milliseconds: a client behind a proxy needs keep-alives.
 */
const LONGEST_HOLD = 10_000;

/**
 * The bytes of one streamed attempt on their way to the client. The commit point
 * (docs/dispatch.md#the-commit-point) is here: nothing is sent before the decision is on disk and
 * the stream has output, so that a stream which fails at once can still be replaced (compare
 * BerriAI/litellm#38610).
 */
export class Outbox {
  readonly #client: ClientAnswer;
  readonly #recording: Recording;
  readonly #commit: () => void;
  #heldChunks: Uint8Array[] = [];
  #heldBytes = 0;
  #heldSince: number | null = null;
  #durable: boolean;
  #released = false;
  #committed = false;

  /**
   * @param isDurable the decision is already on disk. @param commit sends status and headers;
   * called once, before the first byte.
   */
  constructor(client: ClientAnswer, recording: Recording, isDurable: boolean, commit: () => void) {
    this.#recording = recording;
    this.#durable = isDurable;
    this.#client = client;
    this.#commit = commit;
  }

  /**
   * Takes events in order.
   *
   * @returns false where the upstream should pause until `onDrain`, or until the decision is on
   * disk.
   */
  add(events: readonly Uint8Array[]): boolean {
    if (events.length === 0) return true;
    if (this.#isOpen) return this.#write(events);
    const now = performance.now();
    this.#heldSince ??= now;
    for (const event of events) {
      this.#heldChunks.push(event);
      this.#heldBytes += event.length;
    }
    const isLong = this.#heldBytes > MAXIMUM_HELD_BYTES || now - this.#heldSince > LONGEST_HOLD;
    if (isLong && !this.#released) return this.releaseAnswer();
    return this.#heldBytes <= MAXIMUM_WAITING_BYTES;
  }

  /** The stream has output, or has ended properly. @returns like `add`. */
  releaseAnswer(): boolean {
    this.#released = true;
    if (!this.#durable) this.#recording.needed();
    return this.#flush();
  }

  /** The decision is on disk. @returns like `add`. */
  becomeDurable(): boolean {
    this.#durable = true;
    return this.#flush();
  }

  get #isOpen(): boolean {
    return this.#durable && this.#released;
  }

  #flush(): boolean {
    if (!this.#isOpen) return this.#heldBytes <= MAXIMUM_WAITING_BYTES;
    if (this.#heldChunks.length === 0) return true;
    const events = this.#heldChunks;
    this.#heldChunks = [];
    this.#heldBytes = 0;
    return this.#write(events);
  }

  #write(events: readonly Uint8Array[]): boolean {
    if (!this.#committed) {
      this.#committed = true;
      this.#commit();
    }
    let isWritable = true;
    for (const event of events) isWritable = this.#client.write(event);
    return isWritable;
  }
}

/**
 * How long a stream is drained after its client disconnected. It keeps its slot of `concurrency`
 * meanwhile, whose refusals have a `Retry-After` of one second. Milliseconds.
 */
const DRAIN_TIME = 1_000;

/** The same bound in bytes. */
const DRAIN_BYTES = 256 * 1024;

/**
 * Drains a stream whose client has disconnected, until the provider reports its usage or a bound is
 * reached. Providers count at the end: without this, a client that disconnects before the last
 * event would not be charged.
 */
export class DrainAfterDisconnect {
  readonly #stream: AnswerStream;
  readonly #onEnd: (ending: Partial<Ending>) => void;
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  /** @param onEnd ends the call, with the end of the answer where it is known. Called once. */
  constructor(stream: AnswerStream, onEnd: (ending: Partial<Ending>) => void) {
    this.#stream = stream;
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.stop(), DRAIN_TIME);
  }

  take(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    try {
      this.#stream.push(chunk);
    } catch {
      return this.stop();
    }
    if (this.#stream.hasEnded) this.close();
    else if (this.#stream.failure !== null || this.#bytes > DRAIN_BYTES) this.stop();
  }

  /** The provider's bytes have ended. */
  close(): void {
    try {
      const { ending } = this.#stream.endStream();
      this.#end(ending.failure === null ? ending : {});
    } catch {
      this.stop();
    }
  }

  stop(): void {
    this.#end({});
  }

  #end(ending: Partial<Ending>) {
    clearTimeout(this.#timer);
    this.#onEnd(ending);
  }
}
