import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * The text of a service key (docs/keys.md#the-text-of-a-key):
 * `sbx_<environment>_<public id>_<secret><checksum>`. Public id, secret and checksum are base62 and
 * of fixed length, so the parts are found from the end without searching.
 */
const PREFIX = "sbx_";
/**
 * In front of the JWT of an exchanged token, so that people and secret scanners know one. No
 * service key has a dot.
 */
export const TOKEN_PREFIX = "sbx_x_";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PUBLIC_ID_LENGTH = 12;
/** 33 characters of base62 hold 196 bits. */
const SECRET_LENGTH = 33;
/** 62^6 is the first power that holds every CRC-32. */
const CHECKSUM_LENGTH = 6;

const TAIL_LENGTH = PUBLIC_ID_LENGTH + 1 + SECRET_LENGTH + CHECKSUM_LENGTH;
const KEY_FORM = /^sbx_[a-z0-9]{1,16}_([0-9A-Za-z]{12})_[0-9A-Za-z]{39}$/;

export type RandomBytes = (size: number) => Uint8Array;

export interface KeyText {
  /** The whole key. Shown once; never kept, logged or put into an error. */
  readonly text: string;
  readonly publicId: string;
}

/** @throws {RangeError} when the environment is not 1 to 16 characters of a–z and 0–9 */
export function makeKeyText(
  randomBytes: RandomBytes,
  environment: string,
  publicId: string = randomText(randomBytes, PUBLIC_ID_LENGTH),
): KeyText {
  if (!isEnvironment(environment))
    throw new RangeError("environment: give 1 to 16 characters of a–z and 0–9");
  const body = `${PREFIX}${environment}_${publicId}_${randomText(randomBytes, SECRET_LENGTH)}`;
  return { text: body + checksumText(crc32(body)), publicId };
}

/**
 * The public id of a key with a name: the same for the same parts, so that a name finds its key
 * without a column of its own. 71 bits: no attacker finds a name whose id is that of another key.
 *
 * @param parts scopes in which the name is unique, and the name.
 */
export function publicIdFor(parts: readonly (string | number)[]): string {
  let round = 0;
  return randomText(
    () => hash("sha256", JSON.stringify([...parts, (round += 1)]), "buffer"),
    PUBLIC_ID_LENGTH,
  );
}

/**
 * The parts that may be known, or `null` for a text that cannot be a key: wrong shape or wrong
 * checksum.
 */
export function parseKeyText(
  text: string,
): { readonly publicId: string; readonly environment: string } | null {
  const publicId = publicIdOf(text);
  return publicId === null
    ? null
    : { publicId, environment: text.slice(PREFIX.length, -TAIL_LENGTH - 1) };
}

/**
 * The characters at the public id's position, for a caller that compares the digest of the whole
 * text: length and checksum need no check of their own. `null` where the text does not begin as a
 * key.
 */
export function publicIdIn(text: string): string | null {
  return text.startsWith(PREFIX) ? text.slice(-TAIL_LENGTH, PUBLIC_ID_LENGTH - TAIL_LENGTH) : null;
}

/** The public id alone. `null` as for {@link parseKeyText}. */
export function publicIdOf(text: string): string | null {
  const publicId = KEY_FORM.exec(text)?.[1];
  const checksum = checksumText(crc32(text.slice(0, -CHECKSUM_LENGTH)));
  return publicId !== undefined && text.endsWith(checksum) ? publicId : null;
}

/** Whether a text is meant as an exchanged token; it may be invalid. */
export function isToken(text: string): boolean {
  return text.startsWith(TOKEN_PREFIX) && text.includes(".");
}

/** Whether a text contains a service key or token, or most of one. */
export function holdsCredential(text: string): boolean {
  return /sbx_[a-z0-9]{1,16}_[0-9A-Za-z_.-]{12}/i.test(text);
}

export function isEnvironment(text: string): boolean {
  return /^[a-z0-9]{1,16}$/.test(text);
}

function randomText(randomBytes: RandomBytes, length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 = 4 · 62. Taking the rest of the bytes as well would make eight of the characters
      // likelier than the others.
      if (byte < 248 && text.length < length) text += BASE62.charAt(byte % 62);
    }
  }
  return text;
}

function checksumText(checksum: number): string {
  let text = "";
  for (let rest = checksum; text.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62)) {
    text = BASE62.charAt(rest % 62) + text;
  }
  return text;
}

/**
 * Whether every part is the only text for its bytes (RFC 4648 §3.5). Decoders ignore the unused
 * bits of a last character, so one signed text would have several forms.
 */
export function isCanonicalJws(jws: string): boolean {
  return jws
    .split(".")
    .every((part) => Buffer.from(part, "base64url").toString("base64url") === part);
}
