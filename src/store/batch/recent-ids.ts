/** Request ids of decisions that are remembered at least, to refuse one that is sent again; at most twice as many. */
const REMEMBERED = 50_000;

/** Room for the ids of one half; a power of two, and at least twice as many as there are ids. */
const SLOTS = 131_072;

const FACTORS = [0x01_00_01_93, 0x85_eb_ca_6b] as const;

/**
 * A whole number of 32 bits with sign that an id always gives. Few other ids give the same. A map finds it in a third of
 * the time that it takes with the id, which V8 would first put into its table of all texts.
 */
export function idNumber(id: string, factor: number = FACTORS[0]): number {
  let number = 0x81_1c_9d_c5 | 0;
  for (let index = 0; index < id.length; index++) number = Math.imul(number ^ id.charCodeAt(index), factor);
  // High bits depend on more of the id than low ones, by which slots are chosen.
  return number ^ (number >>> 15);
}

/**
 * The newest request ids of a log, as two numbers each, whose lowest three bits follow from the same bits of the id: 61 bits distinguish them, so
 * that one that is not there passes for one that is in 1 of 10^13 cases.
 */
export class RecentIds {
  #recent = new Uint32Array(2 * SLOTS);
  #older = new Uint32Array(2 * SLOTS);
  #size = 0;

  has(requestId: string): boolean {
    const [first, second] = [firstOf(idNumber(requestId)), secondOf(requestId)];
    return isIn(this.#recent, first, second) || isIn(this.#older, first, second);
  }

  /** @param number {@link idNumber} of the id */
  add(requestId: string, number: number = idNumber(requestId)): void {
    if (this.#size >= REMEMBERED) {
      [this.#recent, this.#older] = [this.#older.fill(0), this.#recent];
      this.#size = 0;
    }
    const [first, second] = [firstOf(number), secondOf(requestId)];
    const slot = slotOf(this.#recent, first, second);
    if (this.#recent[slot] !== 0) return;
    this.#recent[slot] = first;
    this.#recent[slot + 1] = second;
    this.#size += 1;
  }
}

/** 0 is a free slot. */
function firstOf(number: number): number {
  return number >>> 0 || 1;
}

function secondOf(requestId: string): number {
  return idNumber(requestId, FACTORS[1]) >>> 0;
}

function isIn(numbers: Uint32Array, first: number, second: number): boolean {
  return numbers[slotOf(numbers, first, second)] !== 0;
}

/** Where the id is, or else the free slot for it. */
function slotOf(numbers: Uint32Array, first: number, second: number): number {
  let slot = (2 * first) % numbers.length;
  while (numbers[slot] !== 0 && (numbers[slot] !== first || numbers[slot + 1] !== second)) {
    slot = (slot + 2) % numbers.length;
  }
  return slot;
}
