import type fc from "fast-check";

/** One parser and the law that must hold of it, whatever it is given. */
export interface FuzzTarget {
  readonly name: string;
  /** Throws where the law does not hold. */
  readonly property: fc.IRawProperty<unknown>;
}

/**
 * Bytes that a machine has looked at or copied through the methods of typed arrays while `run` was
 * under way: a count of work that no clock disturbs.
 */
export function work(run: () => void): number {
  // Held by name: the methods stand on the prototype of all typed arrays, and come back into sight
  // when these are gone.
  const prototype: object = Uint8Array.prototype;
  const typed: unknown = Object.getPrototypeOf(prototype);
  const method = (name: string): ((self: Uint8Array, ...given: readonly unknown[]) => unknown) => {
    const found: unknown = Reflect.get(Object(typed), name);
    if (typeof found !== "function") throw new Error(`typed arrays have no ${name}`);
    return (self, ...given) => Reflect.apply(found, self, given);
  };
  const [indexOf, set] = [method("indexOf"), method("set")];
  let count = 0;
  Reflect.defineProperty(prototype, "indexOf", {
    configurable: true,
    value(this: Uint8Array, wanted: number, from = 0): unknown {
      const found = indexOf(this, wanted, from);
      count += (typeof found !== "number" || found === -1 ? this.length : found + 1) - from;
      return found;
    },
  });
  Reflect.defineProperty(prototype, "set", {
    configurable: true,
    value(this: Uint8Array, source: ArrayLike<number>, offset = 0): void {
      count += source.length;
      set(this, source, offset);
    },
  });
  try {
    run();
  } finally {
    Reflect.deleteProperty(prototype, "indexOf");
    Reflect.deleteProperty(prototype, "set");
  }
  return count;
}
