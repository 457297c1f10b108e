/** Values by key that live as long as somebody uses them. */
export class Shared<Value> {
  readonly #entries = new Map<string, { readonly value: Value; users: number }>();

  /** The value under the key, made where nobody uses one. Give it back with `release`, once. */
  take(key: string, make: () => Value): Value {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known.value;
    }
    const value = make();
    this.#entries.set(key, { value, users: 1 });
    return value;
  }

  /** The value, where this was its last user and it is the caller's to close. */
  release(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.users -= 1;
    if (entry.users > 0) return undefined;
    this.#entries.delete(key);
    return entry.value;
  }

  /** Forgets all values, whoever uses them, and gives them back. */
  clear(): readonly Value[] {
    const values = [...this.#entries.values()].map(({ value }) => value);
    this.#entries.clear();
    return values;
  }
}
