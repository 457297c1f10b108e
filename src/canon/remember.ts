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
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}
