const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;

/**
 * Cuts bytes where parsers of event streams break: around every CR and LF, so within CRLF and
 * within the blank line that ends an event; after the first byte of a line and around its first
 * colon, so within and after a field's name; and within every UTF-8 sequence.
 */
export function awkwardCuts(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let start = 0;
  let column = 0;
  let colon = -1;
  for (const [index, byte] of bytes.entries()) {
    const isLineEnd = byte === LF || byte === CR;
    const isFirstColon = byte === COLON && colon === -1;
    const isWithinCharacter = (byte & 0xc0) === 0x80;
    const isCut =
      column <= 1 || isLineEnd || isWithinCharacter || isFirstColon || index === colon + 1;
    if (isCut && index > start) {
      pieces.push(bytes.subarray(start, index));
      start = index;
    }
    if (isFirstColon) colon = index;
    column = isLineEnd ? 0 : column + 1;
    if (isLineEnd) colon = -1;
  }
  if (start < bytes.length) pieces.push(bytes.subarray(start));
  return pieces;
}

/** Cuts bytes into pieces of one size. */
export function evenCuts(bytes: Buffer, size: number): readonly Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}
