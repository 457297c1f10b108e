/** Keeps the values that were made last, by what they were made of. */
export class Recent<Value> {
  readonly #limit: number;
  readonly #known = new Map<string, Value>();

  /** @param limit so many values are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  of(key: string, make: () => Value): Value {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = make();
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= this.#limit) this.#known.delete(oldest);
    this.#known.set(key, made);
    return made;
  }
}
