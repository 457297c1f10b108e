const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/** Characters that are joined at once; more would overflow the stack. */
const PIECE = 8192;

/** Base64 of a text's UTF-8 bytes. */
export function textToBase64(text: string): string {
  const bytes = encoder.encode(text);
  let characters = "";
  for (let start = 0; start < bytes.length; start += PIECE) {
    characters += String.fromCharCode(...bytes.subarray(start, start + PIECE));
  }
  return btoa(characters);
}

/**
 * The text whose UTF-8 bytes are given; `null` where the data is not base64 or the bytes are not
 * UTF-8.
 */
export function base64ToText(data: string): string | null {
  try {
    return strict.decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
  } catch {
    return null;
  }
}
