/**
 * A metered module exports what it may still use: a mutable i64 that its host sets before every
 * call.
 */
export const FUEL_EXPORT = "signalbox_fuel";

/**
 * A traced module also exports two mutable i32: start and size of the memory that is watched. For
 * each byte of it that is loaded, the byte that lies so many bytes behind it is set to 1. The size
 * is 0 to begin with.
 */
export const TRACE_EXPORTS = ["signalbox_trace_start", "signalbox_trace_size"] as const;

/** Fuel before the host sets any: enough for the start of the module and for reading its tables. */
const INITIAL_FUEL_BYTES = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00];

/**
 * The same module with a fuel counter. Each function call and loop iteration subtracts the
 * instructions that can run until the next one; below zero the module traps. Results are unchanged,
 * and the point of a trap depends on the input alone.
 *
 * @param bytes a module that has globals, exports and code; it is left as it is.
 * @param isTraced marks the memory that is loaded, too. That costs no fuel.
 * @throws {MeteringError} where the bytes are no module, or one that no policy compiles to.
 */
export function meterModule(bytes: Uint8Array, isTraced = false): Uint8Array<ArrayBuffer> {
  const reader = new ByteReader(bytes);
  if (!MAGIC.every((byte) => reader.byte() === byte))
    throw new MeteringError("the bytes are not WebAssembly 1");
  const pieces: Uint8Array[] = [Uint8Array.from(MAGIC)];
  const found = new Set<number>();
  const counts = { types: 0, functions: 0, globals: 0 };
  while (!reader.isDone) {
    const id = reader.byte();
    const content = reader.take(reader.unsigned());
    if (id === EXPORT || id === CODE) {
      if (!found.has(GLOBAL)) throw new MeteringError("the module has no globals");
    }
    found.add(id);
    let rewritten: readonly Uint8Array[] = [content];
    if (id === TYPE && isTraced) {
      counts.types = new ByteReader(content).unsigned();
      rewritten = withEntries(content, [MARK_TYPE]);
    } else if (id === IMPORT) {
      Object.assign(counts, imported(content));
    } else if (id === FUNCTION && isTraced) {
      counts.functions += new ByteReader(content).unsigned();
      rewritten = withEntries(content, [unsignedBytes(counts.types)]);
    } else if (id === GLOBAL) {
      counts.globals += new ByteReader(content).unsigned();
      const fuel = [I64, MUTABLE, I64_CONST, ...INITIAL_FUEL_BYTES, END];
      const traced = isTraced ? TRACE_EXPORTS.map(() => [I32, MUTABLE, I32_CONST, 0, END]) : [];
      rewritten = withEntries(content, [fuel, ...traced]);
    } else if (id === EXPORT) {
      const names = [FUEL_EXPORT, ...(isTraced ? TRACE_EXPORTS : [])];
      rewritten = withEntries(
        content,
        names.map((name, index) => {
          const global = unsignedBytes(counts.globals + index);
          return [name.length, ...new TextEncoder().encode(name), EXPORTED_GLOBAL, ...global];
        }),
      );
    } else if (id === CODE) {
      rewritten = meteredCode(content, counts.globals, isTraced ? counts.functions : null);
    }
    const size = rewritten.reduce((sum, { length }) => sum + length, 0);
    pieces.push(Uint8Array.from([id, ...unsignedBytes(size)]), ...rewritten);
  }
  if (!found.has(EXPORT) || !found.has(CODE))
    throw new MeteringError("the module has no exports or no code");
  return Buffer.concat(pieces);
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const TYPE = 1;
const IMPORT = 2;
const FUNCTION = 3;
const GLOBAL = 6;
const EXPORT = 7;
const CODE = 10;
const EXPORTED_GLOBAL = 3;
const MUTABLE = 1;
const I32 = 0x7f;
const I64 = 0x7e;
const EMPTY = 0x40;
const UNREACHABLE = 0x00;
const CALL = 0x10;
const LOCAL_GET = 0x20;
const LOCAL_TEE = 0x22;
const I32_STORE8 = 0x3a;
const I32_CONST = 0x41;
const I64_CONST = 0x42;
const I32_LT_U = 0x49;
const I64_LT_S = 0x53;
const I32_ADD = 0x6a;
const I32_SUB = 0x6b;
const I64_SUB = 0x7d;

/** The type of {@link markFunction}: an address and an offset; the address. */
const MARK_TYPE = [0x60, 2, I32, I32, 1, I32];

/** The entries of a section with more of them at the end. */
function withEntries(
  content: Uint8Array,
  entries: readonly (readonly number[])[],
): readonly Uint8Array[] {
  const reader = new ByteReader(content);
  const count = reader.unsigned() + entries.length;
  return [
    Uint8Array.from(unsignedBytes(count)),
    content.subarray(reader.at),
    Uint8Array.from(entries.flat()),
  ];
}

/** Imports are numbered before the module's own. */
function imported(content: Uint8Array): { readonly functions: number; readonly globals: number } {
  const reader = new ByteReader(content);
  let globals = 0;
  let functions = 0;
  for (let left = reader.unsigned(); left > 0; left -= 1) {
    for (const _ of ["module", "name"]) reader.skip(reader.unsigned());
    const kind = reader.byte();
    if (kind === 0) {
      functions += 1;
      reader.skipNumber();
    } else if (kind === 3) {
      globals += 1;
      reader.skip(2);
    } else {
      if (kind === 1) reader.skip(1);
      if (kind > 2)
        throw new MeteringError("the module imports something that no compiled policy does");
      // Limits of a table or a memory.
      const hasMaximum = reader.byte() === 1;
      reader.skipNumber();
      if (hasMaximum) reader.skipNumber();
    }
  }
  return { functions, globals };
}

/** @param mark the function that marks what is loaded; `null`: nothing is marked. */
function meteredCode(
  content: Uint8Array,
  globals: number,
  mark: number | null,
): readonly Uint8Array[] {
  const reader = new ByteReader(content);
  const functions = reader.unsigned();
  const added = mark === null ? [] : [markFunction(globals)];
  const pieces: Uint8Array[] = [Uint8Array.from(unsignedBytes(functions + added.length))];
  for (let index = 0; index < functions; index += 1) {
    const size = reader.unsigned();
    const from = reader.at;
    reader.skip(size);
    const insertions = insertionPoints(new ByteReader(content, from, reader.at), globals);
    const inserted = insertions.map((insertion) => instructionsOf(insertion, globals, mark));
    const length = inserted.reduce((sum, instructions) => sum + instructions.length, size);
    pieces.push(Uint8Array.from(unsignedBytes(length)));
    let copied = from;
    for (const [number, { at }] of insertions.entries()) {
      pieces.push(content.subarray(copied, at), inserted[number] ?? new Uint8Array());
      copied = at;
    }
    pieces.push(content.subarray(copied, reader.at));
  }
  return [...pieces, ...added];
}

/**
 * Measured (docs/how-we-know.md): a call or a round takes about as long whether its code is long or
 * short, because most of long code is passed over. With the instructions themselves as fuel, the
 * same fuel took up to 22 times as long in one policy as in another, with this up to 10 times; and
 * fuel still bounds the instructions.
 */
const INSTRUCTIONS_PER_FUEL = 64;

/** The stack is afterwards as it was. */
function instructionsOf(insertion: Insertion, globals: number, mark: number | null): Uint8Array {
  if ("offset" in insertion) {
    if (mark === null) return new Uint8Array();
    return Uint8Array.from([
      I32_CONST,
      ...positiveBytes(insertion.offset),
      CALL,
      ...unsignedBytes(mark),
    ]);
  }
  // Takes the charge from the counter and traps below zero.
  const fuel = 1 + Math.floor(insertion.instructions / INSTRUCTIONS_PER_FUEL);
  const counter = unsignedBytes(globals);
  const instructions = [
    [GLOBAL_GET, ...counter, I64_CONST, ...positiveBytes(fuel), I64_SUB, GLOBAL_SET, ...counter],
    [GLOBAL_GET, ...counter, I64_CONST, 0, I64_LT_S, IF, EMPTY, UNREACHABLE, END],
  ];
  return Uint8Array.from(instructions.flat());
}

/** Marks an address with its offset where it is watched, and gives the address. */
function markFunction(globals: number): Uint8Array {
  const [start, size] = [unsignedBytes(globals + 1), unsignedBytes(globals + 2)];
  const body = [
    // One more local of i32: what is loaded.
    [1, 1, I32],
    [LOCAL_GET, 0, LOCAL_GET, 1, I32_ADD, LOCAL_TEE, 2, GLOBAL_GET, ...start, I32_SUB],
    [GLOBAL_GET, ...size, I32_LT_U, IF, EMPTY],
    [LOCAL_GET, 2, GLOBAL_GET, ...size, I32_ADD, I32_CONST, 1, I32_STORE8, 0, 0, END],
    [LOCAL_GET, 0, END],
  ].flat();
  return Uint8Array.from([...unsignedBytes(body.length), ...body]);
}

/**
 * Bytes that are not a module that can be metered. The message has the number of the construct,
 * never bytes of a policy.
 */
export class MeteringError extends Error {
  override readonly name = "MeteringError";
}

/** Reads the binary format of WebAssembly (Core Specification 2.0, §5). */
class ByteReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte. */
  at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, from = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = from;
    this.#end = end;
  }

  get isDone(): boolean {
    return this.at >= this.#end;
  }

  /** @throws {MeteringError} at the end of the bytes. */
  byte(): number {
    const value = this.at < this.#end ? this.bytes[this.at] : undefined;
    if (value === undefined) throw new MeteringError("the module is cut off");
    this.at += 1;
    return value;
  }

  /** An unsigned LEB128 of at most 32 bits. @throws {MeteringError} */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new MeteringError("the module contains a number that is too long");
  }

  /** Passes over a LEB128 of at most 64 bits, signed or not. @throws {MeteringError} */
  skipNumber(): void {
    for (let length = 0; length < 10; length += 1) if (this.byte() < 0x80) return;
    throw new MeteringError("the module contains a number that is too long");
  }

  /** @throws {MeteringError} where fewer are left. */
  skip(count: number): void {
    if (count > this.#end - this.at) throw new MeteringError("the module is cut off");
    this.at += count;
  }

  /** The next bytes, without a copy. @throws {MeteringError} where fewer are left. */
  take(count: number): Uint8Array {
    const from = this.at;
    this.skip(count);
    return this.bytes.subarray(from, this.at);
  }
}

/** An unsigned LEB128. */
export function unsignedBytes(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}

/** A signed LEB128 of a number that is not negative: bit 6 of the last byte is the sign. */
function positiveBytes(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x3f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}

/** A position in a function where instructions may be inserted. */
type Insertion = Charge | Load;

/** The position before an instruction that loads from memory; its address is on the stack. */
interface Load {
  readonly at: number;
  readonly offset: number;
}

/**
 * Where a function is charged, and how much: at its entry, and at the head of each of its loops.
 */
interface Charge {
  /**
   * Offset in the module's bytes, behind the declaration of locals or behind the `loop`
   * instruction.
   */
  readonly at: number;
  /**
   * Instructions that run at most once between this charge and the next one of the same function.
   */
  instructions: number;
}

/**
 * Charges of one function, and its loads, in order. In a function only heads of loops are jumped to
 * backwards, so each instruction runs at most once for each time that the charge of its innermost
 * loop (or of the entry) is paid. The sum of what is paid is therefore never less than the number
 * of instructions that ran.
 *
 * @param body reader of the function's body without its size; read to its end.
 * @param globals how many globals the module has: an index beyond them would be the meter itself,
 * once it is added.
 * @throws {MeteringError} for an instruction that a compiled policy does not have.
 */
function insertionPoints(body: ByteReader, globals: number): readonly Insertion[] {
  for (let groups = body.unsigned(); groups > 0; groups -= 1) {
    body.skipNumber();
    body.skipNumber();
  }
  let current: Charge = { at: body.at, instructions: 0 };
  const found: Insertion[] = [current];
  /** Charges outside of each open block. */
  const open: Charge[] = [];
  while (!body.isDone) {
    const opcode = body.byte();
    current.instructions += 1;
    if (opcode === END) {
      // The last `end` closes the function itself.
      current = open.pop() ?? current;
    } else if (opcode === LOOP) {
      body.skipNumber();
      open.push(current);
      current = { at: body.at, instructions: 0 };
      found.push(current);
    } else if (opcode === BLOCK || opcode === IF) {
      body.skipNumber();
      open.push(current);
    } else if (opcode >= FIRST_LOAD && opcode <= LAST_LOAD) {
      const at = body.at - 1;
      body.skipNumber();
      found.push({ at, offset: body.unsigned() });
    } else skipImmediates(opcode, body, globals);
  }
  return found;
}

const BLOCK = 0x02;
const LOOP = 0x03;
const IF = 0x04;
const END = 0x0b;
const BR_TABLE = 0x0e;
const CALL_INDIRECT = 0x11;
const FIRST_LOAD = 0x28;
const LAST_LOAD = 0x35;
const GLOBAL_GET = 0x23;
const GLOBAL_SET = 0x24;
const F32_CONST = 0x43;
const F64_CONST = 0x44;
const EXTENDED = 0xfc;
/**
 * Extended instructions from here on copy or fill as many bytes as their operands give: one charge
 * cannot cover them.
 */
const FIRST_BULK = 8;

/** @throws {MeteringError} */
function skipImmediates(opcode: number, body: ByteReader, globals: number) {
  switch (opcode) {
    case GLOBAL_GET:
    case GLOBAL_SET:
      if (body.unsigned() >= globals)
        throw new MeteringError("the module refers to a global that it does not have");
      return;
    case BR_TABLE:
      for (let labels = body.unsigned(); labels >= 0; labels -= 1) body.skipNumber();
      return;
    case CALL_INDIRECT:
      body.skipNumber();
      body.skipNumber();
      return;
    case F32_CONST:
      body.skip(4);
      return;
    case F64_CONST:
      body.skip(8);
      return;
    case EXTENDED:
      if (body.unsigned() < FIRST_BULK) return;
      break;
    default:
      for (const [first, last, numbers] of NUMBERS) {
        if (opcode < first || opcode > last) continue;
        for (let number = 0; number < numbers; number += 1) body.skipNumber();
        return;
      }
  }
  throw new MeteringError(
    `the module has the instruction 0x${opcode.toString(16)}, which no compiled policy has`,
  );
}

/**
 * First and last opcode, and how many numbers follow each. WebAssembly 1.0 and the extension of
 * signs.
 */
const NUMBERS: readonly (readonly [first: number, last: number, numbers: number])[] = [
  // Comparisons, arithmetic, conversions.
  [0x45, 0xc4, 0],
  // Locals.
  [0x20, 0x22, 1],
  // Constants of whole numbers.
  [0x41, 0x42, 1],
  // Stores: alignment and offset.
  [0x36, 0x3e, 2],
  // br, br_if
  [0x0c, 0x0d, 1],
  // call
  [0x10, 0x10, 1],
  // drop, select
  [0x1a, 0x1b, 0],
  // return
  [0x0f, 0x0f, 0],
  // unreachable, nop
  [0x00, 0x01, 0],
  // else
  [0x05, 0x05, 0],
  // memory.size, memory.grow
  [0x3f, 0x40, 1],
];
