/**
 * Name under which a metered module exports what it may still use: a mutable i64 that its host sets
 * before every call.
 */
export const FUEL_EXPORT = "signalbox_fuel";

/**
 * Fuel that a module has before its host has set any: enough for its start and for reading its own
 * tables.
 */
const INITIAL_FUEL_BYTES = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00];

/**
 * The same module with a counter: each call of a function and each round of a loop takes as much
 * from it as instructions can run until the next, and below zero the module traps. It computes what
 * it computed before, and where it ends depends on nothing but its input.
 *
 * @param bytes a module that has globals, exports and code; it is left as it is.
 * @throws {MeteringError} where the bytes are no module, or one that no policy compiles to.
 */
export function meterModule(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const reader = new ByteReader(bytes);
  if (!MAGIC.every((byte) => reader.byte() === byte))
    throw new MeteringError("the bytes are not WebAssembly 1");
  const pieces: Uint8Array[] = [Uint8Array.from(MAGIC)];
  let imported = 0;
  let globals: number | null = null;
  let isExported = false;
  let isMetered = false;
  while (!reader.isDone) {
    const id = reader.byte();
    const content = reader.take(reader.unsigned());
    if (id === IMPORT) imported = importedGlobals(content);
    let made: readonly Uint8Array[] = [content];
    if (id === GLOBAL) {
      const entries = new ByteReader(content);
      globals = imported + entries.unsigned();
      made = [
        Uint8Array.from(unsignedBytes(globals - imported + 1)),
        content.subarray(entries.at),
        Uint8Array.from([I64, MUTABLE, I64_CONST, ...INITIAL_FUEL_BYTES, END]),
      ];
    } else if (id === EXPORT) {
      if (globals === null) throw new MeteringError("the module has no globals");
      const entries = new ByteReader(content);
      const name = new TextEncoder().encode(FUEL_EXPORT);
      made = [
        Uint8Array.from(unsignedBytes(entries.unsigned() + 1)),
        content.subarray(entries.at),
        Uint8Array.from([name.length, ...name, EXPORTED_GLOBAL, ...unsignedBytes(globals)]),
      ];
      isExported = true;
    } else if (id === CODE) {
      if (globals === null) throw new MeteringError("the module has no globals");
      made = meteredCode(content, globals);
      isMetered = true;
    }
    const size = made.reduce((sum, { length }) => sum + length, 0);
    pieces.push(Uint8Array.from([id, ...unsignedBytes(size)]), ...made);
  }
  if (!isExported || !isMetered) throw new MeteringError("the module has no exports or no code");
  return Buffer.concat(pieces);
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const IMPORT = 2;
const GLOBAL = 6;
const EXPORT = 7;
const CODE = 10;
const EXPORTED_GLOBAL = 3;
const MUTABLE = 1;
const I64 = 0x7e;
const EMPTY = 0x40;
const UNREACHABLE = 0x00;
const I64_CONST = 0x42;
const I64_LT_S = 0x53;
const I64_SUB = 0x7d;

/** Imported globals are numbered before the module's own. */
function importedGlobals(content: Uint8Array): number {
  const reader = new ByteReader(content);
  let globals = 0;
  for (let left = reader.unsigned(); left > 0; left -= 1) {
    for (const _ of ["module", "name"]) reader.skip(reader.unsigned());
    const kind = reader.byte();
    if (kind === 0) reader.skipNumber();
    else if (kind === 3) {
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
  return globals;
}

function meteredCode(content: Uint8Array, globals: number): readonly Uint8Array[] {
  const reader = new ByteReader(content);
  const functions = reader.unsigned();
  const pieces: Uint8Array[] = [Uint8Array.from(unsignedBytes(functions))];
  for (let index = 0; index < functions; index += 1) {
    const size = reader.unsigned();
    const from = reader.at;
    reader.skip(size);
    const charges = chargesOf(new ByteReader(content, from, reader.at), globals);
    const payments = charges.map((charge) => payment(charge, globals));
    const added = payments.reduce((sum, { length }) => sum + length, 0);
    pieces.push(Uint8Array.from(unsignedBytes(size + added)));
    let copied = from;
    for (const [charge, { at }] of charges.entries()) {
      const paid = payments[charge];
      if (paid === undefined) continue;
      pieces.push(content.subarray(copied, at), paid);
      copied = at;
    }
    pieces.push(content.subarray(copied, reader.at));
  }
  return pieces;
}

/**
 * Measured (docs/how-we-know.md): a call or a round takes about as long whether its code is long or
 * short, because most of long code is passed over. With the instructions themselves as fuel, the
 * same fuel took up to 22 times as long in one policy as in another, with this up to 10 times; and
 * fuel still bounds the instructions.
 */
const INSTRUCTIONS_PER_FUEL = 64;

/** Takes the charge from the counter and traps below zero; leaves the stack as it was. */
function payment({ instructions }: Charge, counter: number): Uint8Array {
  const fuel = 1 + Math.floor(instructions / INSTRUCTIONS_PER_FUEL);
  const index = unsignedBytes(counter);
  return Uint8Array.from([
    GLOBAL_GET,
    ...index,
    I64_CONST,
    ...positiveBytes(fuel),
    I64_SUB,
    GLOBAL_SET,
    ...index,
    GLOBAL_GET,
    ...index,
    I64_CONST,
    0,
    I64_LT_S,
    IF,
    EMPTY,
    UNREACHABLE,
    END,
  ]);
}

/**
 * Why bytes are no module that can be metered. Names the construct by its number, never bytes of a
 * policy.
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
 * What one function is to be charged. Within a function only the head of a loop is jumped to
 * backwards, so each instruction runs at most once for each time that the charge of its innermost
 * loop (or of the entry) is paid. The sum of what is paid is therefore never less than the number
 * of instructions that ran.
 *
 * @param body reader of the function's body without its size; read to its end.
 * @param globals how many globals the module has: an index beyond them would be the meter itself,
 * once it is added.
 * @throws {MeteringError} for an instruction that a compiled policy does not have.
 */
function chargesOf(body: ByteReader, globals: number): readonly Charge[] {
  for (let groups = body.unsigned(); groups > 0; groups -= 1) {
    body.skipNumber();
    body.skipNumber();
  }
  let current: Charge = { at: body.at, instructions: 0 };
  const charges = [current];
  /** What is charged outside of each block that is open. */
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
      charges.push(current);
    } else if (opcode === BLOCK || opcode === IF) {
      body.skipNumber();
      open.push(current);
    } else skipImmediates(opcode, body, globals);
  }
  return charges;
}

const BLOCK = 0x02;
const LOOP = 0x03;
const IF = 0x04;
const END = 0x0b;
const BR_TABLE = 0x0e;
const CALL_INDIRECT = 0x11;
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
function skipImmediates(opcode: number, body: ByteReader, globals: number): void {
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
  // Loads and stores: alignment and offset.
  [0x28, 0x3e, 2],
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
