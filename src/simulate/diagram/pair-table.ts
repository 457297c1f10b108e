/** Slots for the first pairs; twice as many whenever more than half are taken. */
const FIRST_SLOTS = 1_024;
/** Numbers of a slot: left, right, value. */
const WIDTH = 3;
/** No pair has this value. */
const NONE = -(2 ** 31);

/**
 * Numbers by pairs of numbers, all of 32 bits. A `Map` would need a text for each look, or a number
 * that does not fit in a pointer, which V8 allocates: combining diagrams looks millions of pairs
 * up.
 */
export class PairTable {
  #slots = emptySlots(FIRST_SLOTS);
  #mask = FIRST_SLOTS - 1;
  #size = 0;

  get(left: number, right: number): number | undefined {
    const value = this.#slots[this.#slotOf(left, right) + 2];
    return value === NONE ? undefined : value;
  }

  /** @param value above -2 ** 31. */
  set(left: number, right: number, value: number): void {
    const at = this.#slotOf(left, right);
    if (this.#slots[at + 2] === NONE) {
      this.#size += 1;
      this.#slots[at] = left;
      this.#slots[at + 1] = right;
    }
    this.#slots[at + 2] = value;
    if (this.#size * 2 > this.#mask) this.#grow();
  }

  /** Where a pair is, or where it would be. */
  #slotOf(left: number, right: number): number {
    const slots = this.#slots;
    let at = mixed(left, right) & this.#mask;
    for (;;) {
      const from = at * WIDTH;
      if (slots[from + 2] === NONE || (slots[from] === left && slots[from + 1] === right))
        return from;
      at = (at + 1) & this.#mask;
    }
  }

  #grow(): void {
    const old = this.#slots;
    const slots = (this.#mask + 1) * 2;
    this.#slots = emptySlots(slots);
    this.#mask = slots - 1;
    for (let from = 0; from < old.length; from += WIDTH) {
      if (old[from + 2] === NONE) continue;
      const at = this.#slotOf(old[from] ?? 0, old[from + 1] ?? 0);
      for (let own = 0; own < WIDTH; own += 1) this.#slots[at + own] = old[from + own] ?? 0;
    }
  }
}

function emptySlots(slots: number): Int32Array {
  return new Int32Array(slots * WIDTH).fill(NONE);
}

/**
 * A hash in 32 bits, in which every bit of both numbers reaches the low ones (the finish of
 * MurmurHash3).
 */
export function mixed(left: number, right: number): number {
  let hash = Math.imul(left, 0x9e3779b1) ^ right;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
