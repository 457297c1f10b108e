/** Base64 of the bytes of several pieces of base64, one after the other; `null` where one of them is not base64. */
export function joinBase64(pieces: readonly string[]): string | null {
  if (pieces.length < 2) return pieces[0] ?? "";
  try {
    return btoa(pieces.map((piece) => atob(piece)).join(""));
  } catch {
    return null;
  }
}
