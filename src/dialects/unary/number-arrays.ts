import { COUNT_NUMBERS } from "./count-numbers.ts";
import { scanNumberArray, type NumberArray } from "./scan-numbers.ts";

/** Bytes of an answer that are looked at together: they stay in a processor's second cache. The kernel's memory has one page more. */
const WINDOW_BYTES = 4 * 65_536;

interface Kernel {
  /** @returns how many numbers; 0: not surely an array of finite numbers; -1: it goes on at `end`. */
  readonly count: (first: number, end: number) => number;
  readonly after: () => number;
  readonly memory: Uint8Array;
}

let kernel: Kernel | null = null;

/** Compiled when the first answer with vectors comes. Calls are synchronous, so one memory is enough for all answers. */
function makeKernel(): Kernel {
  const module = new WebAssembly.Module(Buffer.from(COUNT_NUMBERS, "base64"));
  const { count, after, memory } = new WebAssembly.Instance(module).exports;
  if (
    typeof count !== "function" ||
    !(after instanceof WebAssembly.Global) ||
    !(memory instanceof WebAssembly.Memory)
  ) {
    throw new Error("vectors: count-numbers.ts is not of this version");
  }
  return {
    count: (first, end) => Number(count(first, end)),
    after: () => Number(after.value),
    memory: new Uint8Array(memory.buffer),
  };
}

/**
 * The arrays of numbers in one answer. Most are counted 64 bytes at a time (`tools/vectors/count-numbers.wat`); what is not surely an array of finite
 * numbers without white space is looked at byte by byte. Valid until another answer is read.
 */
export class NumberArrays {
  readonly #bytes: Uint8Array;
  readonly #kernel = (kernel ??= makeKernel());
  /** What of the bytes the kernel's memory holds. */
  #from = 0;
  #to = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The array whose opening bracket is at `open`; `null` where something else than finite numbers is in it, or nothing is. */
  at(open: number): NumberArray | null {
    const count = this.#count(open + 1);
    return count > 0 ? { count, end: this.#from + this.#kernel.after() } : scanNumberArray(this.#bytes, open);
  }

  #count(first: number): number {
    const count = first < this.#to ? this.#kernel.count(first - this.#from, this.#to - this.#from) : -1;
    if (count !== -1 || this.#to === this.#bytes.length) return count;
    this.#from = first;
    this.#to = Math.min(first + WINDOW_BYTES, this.#bytes.length);
    this.#kernel.memory.set(this.#bytes.subarray(this.#from, this.#to));
    return this.#kernel.count(0, this.#to - this.#from);
  }
}
