const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Base64 of the UTF-8 bytes of a text.
 *
 * @example textToBase64("hä") // "aMOk"
 */
export function textToBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

/** The reverse of {@link textToBase64}; `null` for data that is not base64 or not UTF-8. */
export function base64ToText(data: string): string | null {
  try {
    return strict.decode(Uint8Array.fromBase64(data));
  } catch {
    return null;
  }
}
