import type { ClientAnswer } from "./client-answer.ts";

/** Events that may wait for the decision to be on disk before the upstream is paused, bytes. */
const MAXIMUM_WAITING_BYTES = 256 * 1024;

/** Events without output that may wait for the first that has some; beyond them the answer is taken to have begun. Bytes. */
const MAXIMUM_HELD_BYTES = 64 * 1024;

/** How long events without output are held while more of them arrive: a client behind a proxy needs the keep-alives. Milliseconds. */
const LONGEST_HOLD = 10_000;

/**
 * The bytes of one streamed attempt on their way to the client. The commit point (docs/dispatch.md#the-commit-point) is here: nothing is sent before the
 * decision is on disk and the stream has output, so that a stream which fails at once can still be replaced (compare BerriAI/litellm#38610).
 */
export class Outbox {
  readonly #client: ClientAnswer;
  readonly #commit: () => void;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #heldSince: number | null = null;
  #durable: boolean;
  #released = false;
  #committed = false;

  /** @param isDurable the decision is on disk already. @param commit sends status and headers; called once, before the first byte. */
  constructor(client: ClientAnswer, isDurable: boolean, commit: () => void) {
    this.#durable = isDurable;
    this.#client = client;
    this.#commit = commit;
  }

  /**
   * Takes events in their order.
   *
   * @returns false where the upstream should pause until `onDrain`, or until the decision is on disk.
   */
  add(events: readonly Uint8Array[]): boolean {
    if (events.length === 0) return true;
    if (this.#isOpen) return this.#write(events);
    const now = performance.now();
    this.#heldSince ??= now;
    for (const event of events) {
      this.#held.push(event);
      this.#heldBytes += event.length;
    }
    const isLong = this.#heldBytes > MAXIMUM_HELD_BYTES || now - this.#heldSince > LONGEST_HOLD;
    if (isLong && !this.#released) return this.release();
    return this.#heldBytes <= MAXIMUM_WAITING_BYTES;
  }

  /** The stream has output, or has ended properly. @returns as `add` does. */
  release(): boolean {
    if (this.#released) return true;
    this.#released = true;
    return this.#flush();
  }

  /** The decision is on disk. @returns as `add` does. */
  becomeDurable(): boolean {
    this.#durable = true;
    return this.#flush();
  }

  get #isOpen(): boolean {
    return this.#durable && this.#released;
  }

  #flush(): boolean {
    if (!this.#isOpen) return this.#heldBytes <= MAXIMUM_WAITING_BYTES;
    if (this.#held.length === 0) return true;
    const events = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return this.#write(events);
  }

  #write(events: readonly Uint8Array[]): boolean {
    if (!this.#committed) {
      this.#committed = true;
      this.#commit();
    }
    let mayGoOn = true;
    for (const event of events) mayGoOn = this.#client.write(event);
    return mayGoOn;
  }
}
