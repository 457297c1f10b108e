/** The cached value of a key; made on the first call. */
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

export type Numbered<Value> = ReturnType<typeof numbered<Value>>;

/** Gives equal values one number, from 0. */
export function numbered<Value>() {
  const values: Value[] = [];
  const numbers = new Map<string, number>();
  return {
    /** @param key equal for equal values only. */
    numberOf: (key: string, value: () => Value) =>
      remembered(numbers, key, () => values.push(value()) - 1),
    at(number: number): Value {
      const value = values[number];
      if (value === undefined) throw new RangeError(`simulation: nothing has the number ${number}`);
      return value;
    },
  };
}

export type Recent<Value> = ReturnType<typeof recent<Value>>;

/** Caches the most recent values by key. @param limit how many. */
export function recent<Value>(limit: number) {
  const values = new Map<string, Value>();
  return (key: string, make: () => Value) =>
    remembered(values, key, () => {
      const value = make();
      const [oldest] = values.keys();
      if (oldest !== undefined && values.size >= limit) values.delete(oldest);
      return value;
    });
}
