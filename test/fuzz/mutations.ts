import fc from "fast-check";

/** Pieces that parsers are known to stumble over. */
const NASTY: readonly Buffer[] = [
  '\0 \r \n \r\n \n\n \r\n\r\n data: data:  : event: { } [ ] " \\ \\u0000 \\ud800 , : null true -0 1e999 -1e999 9007199254740993 0x10 NaN'.split(
    " ",
  ),
  "__proto__ constructor toString & = % %00 %zz + &a *a !!js << --- \t \ufeff \u2028 \u{1f600} [DONE] data:[DONE]\n\n".split(
    " ",
  ),
  ["[".repeat(600), '{"a":'.repeat(600), "9".repeat(400), "data: [DONE]\n\n", "data: {}\n\n"],
]
  .flat()
  .map((text) => Buffer.from(text))
  .concat(
    [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff]].map(
      (bytes) => Buffer.from(bytes),
    ),
  );

/** Positions are shares of the length, so that they mean something for every sample. */
const position = fc.double({ min: 0, max: 1, noNaN: true });

type Mutation = (bytes: Buffer, others: readonly Uint8Array[]) => Buffer;

const at = (bytes: Uint8Array, share: number): number => Math.floor(share * bytes.length);

const flip: fc.Arbitrary<Mutation> = fc
  .tuple(position, fc.integer({ min: 1, max: 255 }))
  .map(([share, bits]) => (bytes) => {
    const changed = Buffer.from(bytes);
    const index = Math.min(at(bytes, share), bytes.length - 1);
    if (index >= 0) changed[index] = (changed[index] ?? 0) ^ bits;
    return changed;
  });

const insert: fc.Arbitrary<Mutation> = fc
  .tuple(position, fc.nat(NASTY.length - 1))
  .map(([share, which]) => (bytes) => {
    const index = at(bytes, share);
    return Buffer.concat([
      bytes.subarray(0, index),
      NASTY[which] ?? Buffer.alloc(0),
      bytes.subarray(index),
    ]);
  });

const cut: fc.Arbitrary<Mutation> = fc.tuple(position, position).map(([from, to]) => (bytes) => {
  const [start, end] = [at(bytes, Math.min(from, to)), at(bytes, Math.max(from, to))];
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
});

const truncate: fc.Arbitrary<Mutation> = position.map(
  (share) => (bytes) => Buffer.from(bytes.subarray(0, at(bytes, share))),
);

const repeat: fc.Arbitrary<Mutation> = fc
  .tuple(position, position, fc.integer({ min: 2, max: 40 }))
  .map(([from, to, times]) => (bytes) => {
    const [start, end] = [at(bytes, Math.min(from, to)), at(bytes, Math.max(from, to))];
    const piece = bytes.subarray(start, Math.min(end, start + 2_000));
    return Buffer.concat([
      bytes.subarray(0, start),
      ...Array.from({ length: times }, () => piece),
      bytes.subarray(start),
    ]);
  });

const splice: fc.Arbitrary<Mutation> = fc
  .tuple(position, position, fc.nat())
  .map(([here, there, which]) => (bytes, others) => {
    const other = others[which % others.length] ?? bytes;
    return Buffer.concat([bytes.subarray(0, at(bytes, here)), other.subarray(at(other, there))]);
  });

/** A number in the text becomes an unexpected one. */
const renumber: fc.Arbitrary<Mutation> = fc
  .tuple(
    fc.nat(),
    fc.constantFrom(
      "-1",
      "0",
      "1e308",
      "1e-400",
      "4294967295",
      "9007199254740993",
      "0.1",
      '"1"',
      "null",
    ),
  )
  .map(([which, number]) => (bytes) => {
    const text = bytes.toString("latin1");
    const found = [...text.matchAll(/\d+/g)];
    const one = found[which % Math.max(found.length, 1)];
    if (one === undefined) return bytes;
    return Buffer.from(
      text.slice(0, one.index) + number + text.slice(one.index + one[0].length),
      "latin1",
    );
  });

/** A JSON name in the text becomes another of its names, or one that every object has. */
const rename: fc.Arbitrary<Mutation> = fc
  .tuple(fc.nat(), fc.nat())
  .map(([which, into]) => (bytes) => {
    const text = bytes.toString("latin1");
    const names = [...text.matchAll(/"(\w{1,40})"/g)];
    const one = names[which % Math.max(names.length, 1)];
    if (one === undefined) return bytes;
    const replacements = [...names.map(([, name = ""]) => name), "__proto__", "constructor", ""];
    const replacement = replacements[into % replacements.length] ?? "";
    return Buffer.from(
      `${text.slice(0, one.index)}"${replacement}"${text.slice(one.index + one[0].length)}`,
      "latin1",
    );
  });

const mutation = fc.oneof(
  { weight: 3, arbitrary: flip },
  { weight: 3, arbitrary: insert },
  cut,
  truncate,
  repeat,
  splice,
  { weight: 2, arbitrary: renumber },
  { weight: 2, arbitrary: rename },
);

/**
 * Samples after up to six changes; now and then one as it is, and now and then bytes out of
 * nowhere.
 */
export function mutated(samples: readonly (string | Uint8Array)[]): fc.Arbitrary<Uint8Array> {
  const bytes = samples.map((sample) => Buffer.from(sample));
  const changed = fc
    .tuple(fc.nat(bytes.length - 1), fc.array(mutation, { maxLength: 6 }))
    .map(([which, steps]) =>
      steps.reduce<Buffer>((made, step) => step(made, bytes), Buffer.from(bytes[which] ?? "")),
    );
  return fc.oneof(
    { weight: 20, arbitrary: changed },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  );
}

/** The same as text; bytes that are no UTF-8 become U+FFFD, as any decoder would make them. */
export function mutatedText(samples: readonly string[]): fc.Arbitrary<string> {
  return mutated(samples).map((bytes) => Buffer.from(bytes).toString());
}

/** Where a stream of bytes is cut: at every byte, or at these shares of its length. */
export const cuts: fc.Arbitrary<readonly number[] | "everywhere"> = fc.oneof(
  { weight: 4, arbitrary: fc.array(position, { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constant("everywhere" as const) },
);

/** The pieces; none of them shares memory with another, as pieces from a socket would not. */
export function pieces(
  bytes: Uint8Array,
  positions: readonly number[] | "everywhere",
): readonly Uint8Array[] {
  const ends =
    positions === "everywhere"
      ? Array.from(bytes, (_, index) => index + 1)
      : [...positions.map((share) => at(bytes, share)), bytes.length].toSorted((a, b) => a - b);
  let start = 0;
  return ends.map((end) => {
    const piece = Uint8Array.from(bytes.subarray(start, end));
    start = end;
    return piece;
  });
}
