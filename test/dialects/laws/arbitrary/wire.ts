import fc from "fast-check";

/**
 * Encodings of the same stream that a reader treats alike (docs/protocols.md#server-sent-events).
 */
export const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  plainly: (text) => text,
  "with CRLF": (text) => text.replaceAll("\n", "\r\n"),
  "with CR": (text) => text.replaceAll("\n", "\r"),
  "without the space after the colon": (text) => text.replaceAll(/^(data|event): /gm, "$1:"),
  "with comments": (text) =>
    `: hello\n\n${text.replaceAll(/^data:/gm, ": keep-alive\ndata:")}: bye\n\n`,
  "with unknown fields": (text) => text.replaceAll(/^data:/gm, "id: 7\nretry: 100\ndata:"),
};

/** Positions at which to cut a text of bytes, as shares of its length. */
export const someCuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

/** The bytes in pieces; empty ones too, which sockets do not send and parsers must survive. */
export function pieces(bytes: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const positions = [
    0,
    ...cuts.map((cut) => Math.floor(cut * bytes.length)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return positions.slice(1).map((end, index) => bytes.subarray(positions[index], end));
}

export function singleBytes(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from(bytes, (_byte, index) => bytes.subarray(index, index + 1));
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
