/** A value that is made once for each key. */
export function remembered<Key, Value>(
  cache: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const found = cache.get(key);
  if (found !== undefined) return found;
  const value = make();
  cache.set(key, value);
  return value;
}

/** Gives equal values one number, from 0. */
export class Numbered<Value> {
  readonly #values: Value[] = [];
  readonly #numbers = new Map<string, number>();

  /** @param key equal for equal values only. */
  numberOf(key: string, value: () => Value): number {
    return remembered(this.#numbers, key, () => this.#values.push(value()) - 1);
  }

  at(number: number): Value {
    const value = this.#values[number];
    if (value === undefined) throw new RangeError(`simulation: nothing has the number ${number}`);
    return value;
  }
}

/** Keeps the values that were made last, by key. */
export class Recent<Value> {
  readonly #limit: number;
  readonly #values = new Map<string, Value>();

  /** @param limit so many values are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  of(key: string, make: () => Value): Value {
    const found = this.#values.get(key);
    if (found !== undefined) return found;
    const value = make();
    const [oldest] = this.#values.keys();
    if (oldest !== undefined && this.#values.size >= this.#limit) this.#values.delete(oldest);
    this.#values.set(key, value);
    return value;
  }
}
