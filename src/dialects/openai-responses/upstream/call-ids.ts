import type { Loss } from "../../../canon/generate/loss.ts";

/** Longest id of a call that the protocol takes. */
const MAXIMUM_LENGTH = 64;

/** Gives every call of a request an id that the protocol takes: its own where it fits, else a made one, the same wherever the call is named. */
export class CallIds {
  readonly #losses: Set<Loss>;
  readonly #made = new Map<string, string>();

  constructor(losses: Set<Loss>) {
    this.#losses = losses;
  }

  of(id: string): string {
    if (id.length > 0 && id.length <= MAXIMUM_LENGTH) return id;
    this.#losses.add("call_ids_rewritten");
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    const made = `call_rewritten_${this.#made.size + 1}`;
    this.#made.set(id, made);
    return made;
  }
}
