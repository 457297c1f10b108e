/** Request ids of decisions that are remembered at least, to refuse one that is sent again; at most twice as many. */
const REMEMBERED = 50_000;

/** Places for the ids of one half; a power of two, and at least twice as many as there are ids. */
const PLACES = 131_072;

const FACTORS = [0x01_00_01_93, 0x85_eb_ca_6b] as const;

/**
 * A whole number of 32 bits with sign that an id always gives. Few other ids give the same. A map finds it in a third of
 * the time that it takes with the id, which V8 would first put into its table of all texts.
 */
export function idNumber(id: string, factor: number = FACTORS[0]): number {
  let number = 0x81_1c_9d_c5 | 0;
  for (let index = 0; index < id.length; index++) number = Math.imul(number ^ id.charCodeAt(index), factor);
  // High bits depend on more of the id than low ones, by which places are chosen.
  return number ^ (number >>> 15);
}

/** The newest request ids of a log, as 64 bits each: one that is not there passes for one that is in 1 of 10^14 cases. */
export class RecentIds {
  #recent = new Uint32Array(2 * PLACES);
  #older = new Uint32Array(2 * PLACES);
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
    const place = placeOf(this.#recent, first, second);
    if (this.#recent[place] !== 0) return;
    this.#recent[place] = first;
    this.#recent[place + 1] = second;
    this.#size += 1;
  }
}

/** 0 is a free place. */
function firstOf(number: number): number {
  return number >>> 0 || 1;
}

function secondOf(requestId: string): number {
  return idNumber(requestId, FACTORS[1]) >>> 0;
}

function isIn(numbers: Uint32Array, first: number, second: number): boolean {
  return numbers[placeOf(numbers, first, second)] !== 0;
}

/** Where the id is, or else the free place for it. */
function placeOf(numbers: Uint32Array, first: number, second: number): number {
  let place = (2 * first) % numbers.length;
  while (numbers[place] !== 0 && (numbers[place] !== first || numbers[place + 1] !== second)) {
    place = (place + 2) % numbers.length;
  }
  return place;
}
