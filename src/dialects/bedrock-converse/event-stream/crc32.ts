/** CRC-32 as in ISO 3309 and gzip, reflected: polynomial 0xEDB88320, all ones before and after. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xed_b8_83_20 : remainder >>> 1;
  return remainder;
});

/** The checksum of the bytes, 0 to 2³² − 1. */
export function crc32(bytes: Uint8Array): number {
  let remainder = -1;
  // Counted, not iterated: every byte of every stream passes here.
  for (let index = 0; index < bytes.length; index += 1)
    remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  return ~remainder >>> 0;
}
