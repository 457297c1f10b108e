/** The same text with line feeds only and without a byte order mark, so that neither can show in a result. */
export function normaliseText(text: string): string {
  return text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
}
