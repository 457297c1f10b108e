/**
 * The value under a key, made at its first use. Node 24 has no `getOrInsertComputed` yet.
 *
 * @example remember(new Map(), "a", () => 1) // 1
 */
export function remember<Key, Value>(
  values: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const present = values.get(key);
  if (present !== undefined) return present;
  const value = make();
  values.set(key, value);
  return value;
}
