interface Node<Value> {
  value: Value | null;
  before: Node<Value> | null;
  after: Node<Value> | null;
}

/**
 * The values in flight, where thousands come and go each second: a linked list.
 *
 * Not a Set or a Map: the tables that one of those outgrows keep what stood in them until the engine collects its old
 * space, and with it everything that a request holds.
 */
export class InFlightList<Value> {
  readonly #ends: Node<Value> = { value: null, before: null, after: null };
  #last = this.#ends;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @returns takes it out again; safe to call twice. */
  enter(value: Value): () => void {
    const node: Node<Value> = { value, before: this.#last, after: null };
    this.#last.after = node;
    this.#last = node;
    this.#size += 1;
    return () => this.#remove(node);
  }

  /** Calls with each value, in the order in which they came; not with those that are removed or added meanwhile. */
  each(call: (value: Value) => void): void {
    const nodes: Node<Value>[] = [];
    for (let node = this.#ends.after; node !== null; node = node.after) nodes.push(node);
    for (const { value } of nodes) if (value !== null) call(value);
  }

  #remove(node: Node<Value>): void {
    const { before, after } = node;
    if (before === null) return;
    before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    // A removed node must not reference others: it may stay in old space long after.
    node.value = null;
    node.before = null;
    node.after = null;
    this.#size -= 1;
  }
}
