/** Characters that are joined at once; more would overflow the stack. */
const PIECE = 8192;

const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Base64 of the UTF-8 bytes of a text.
 *
 * @example textToBase64("hä") // "aMOk"
 */
export function textToBase64(text: string): string {
  // Uint8Array.toBase64 is missing in Node 22 and 24.
  const bytes = new TextEncoder().encode(text);
  let characters = "";
  for (let start = 0; start < bytes.length; start += PIECE)
    characters += String.fromCharCode(...bytes.subarray(start, start + PIECE));
  return btoa(characters);
}

/**
 * The reverse of {@link textToBase64}; `null` for data that is not base64 or not UTF-8.
 *
 * @example base64ToText("aMOk") // "hä"
 */
export function base64ToText(data: string): string | null {
  try {
    return strict.decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
  } catch {
    return null;
  }
}
