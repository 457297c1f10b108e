import {
  ByteReader,
  MeteringError,
  positiveBytes,
  unsignedBytes,
  chargesOf,
  type Charge,
} from "./wasm-bytes.ts";

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
  return joined(pieces);
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const IMPORT = 2;
const GLOBAL = 6;
const EXPORT = 7;
const CODE = 10;
const EXPORTED_GLOBAL = 3;
const MUTABLE = 1;
const I64 = 0x7e;
const END = 0x0b;
const IF = 0x04;
const EMPTY = 0x40;
const UNREACHABLE = 0x00;
const GLOBAL_GET = 0x23;
const GLOBAL_SET = 0x24;
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

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
