const decoder = new TextDecoder("utf-8", { fatal: true });

/** The type of header values that are text; the only one that this router looks at. */
const TEXT = 7;

/** Bytes of a value by its type (AWS event stream encoding, "Headers"); -1: two bytes before the value say how many. */
const LENGTHS: ReadonlyMap<number, number> = new Map([
  [0, 0],
  [1, 0],
  [2, 1],
  [3, 2],
  [4, 4],
  [5, 8],
  [6, -1],
  [TEXT, -1],
  [8, 8],
  [9, 16],
]);

/** The headers of a frame whose values are text, by their names; `null` where the bytes are not headers, or not UTF-8. */
export function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> | null {
  try {
    return parseHeaders(bytes);
  } catch {
    return null;
  }
}

/** @throws {TypeError} where a text is not UTF-8. */
function parseHeaders(bytes: Uint8Array): ReadonlyMap<string, string> | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headers = new Map<string, string>();
  let offset = 0;
  while (offset < bytes.length) {
    const nameEnd = offset + 1 + view.getUint8(offset);
    if (nameEnd >= bytes.length) return null;
    const type = view.getUint8(nameEnd);
    const fixed = LENGTHS.get(type);
    const isCounted = fixed === -1;
    if (fixed === undefined || (isCounted && nameEnd + 3 > bytes.length)) return null;
    const start = nameEnd + (isCounted ? 3 : 1);
    const end = start + (isCounted ? view.getUint16(nameEnd + 1) : fixed);
    if (end > bytes.length) return null;
    if (type === TEXT)
      headers.set(decoder.decode(bytes.subarray(offset + 1, nameEnd)), decoder.decode(bytes.subarray(start, end)));
    offset = end;
  }
  return headers;
}
