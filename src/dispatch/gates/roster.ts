interface Place<Value> {
  value: Value | null;
  before: Place<Value> | null;
  after: Place<Value> | null;
}

/**
 * Who is here at the moment, where thousands come and go each second: a linked list.
 *
 * Not a Set or a Map: the tables that one of those outgrows keep what stood in them until the engine collects its old
 * space, and with it everything that a request holds.
 */
export class Roster<Value> {
  readonly #ends: Place<Value> = { value: null, before: null, after: null };
  #last = this.#ends;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @returns takes it out again; safe to call twice. */
  enter(value: Value): () => void {
    const place: Place<Value> = { value, before: this.#last, after: null };
    this.#last.after = place;
    this.#last = place;
    this.#size += 1;
    return () => this.#leave(place);
  }

  /** Calls with each that is here, in the order in which they came; not with who leaves or comes meanwhile. */
  each(call: (value: Value) => void): void {
    const places: Place<Value>[] = [];
    for (let place = this.#ends.after; place !== null; place = place.after) places.push(place);
    for (const { value } of places) if (value !== null) call(value);
  }

  #leave(place: Place<Value>): void {
    const { before, after } = place;
    if (before === null) return;
    before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    // What has left must lead to nobody: it may be found in old space long after.
    place.value = null;
    place.before = null;
    place.after = null;
    this.#size -= 1;
  }
}
