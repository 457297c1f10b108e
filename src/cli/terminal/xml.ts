/**
 * An XML element whose children are written already. Without indentation: white space that is put around an element could end up in the text of
 * the one around it.
 */
export function formatElement(
  name: string,
  attributes: Readonly<Record<string, string>>,
  children: readonly string[],
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(value)}"`);
  const open = `<${name}${written.join("")}`;
  return children.length === 0 ? `${open}/>` : `${open}>\n${children.join("\n")}\n</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  // A parser turns these into spaces inside of an attribute, and the last one into a line feed everywhere.
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

export function escapeXmlLines(lines: readonly string[]): string {
  return lines.map(escapeXml).join("\n");
}

/** XML 1.0 has no way to write most control characters and halves of surrogate pairs, so they are replaced. */
export function escapeXml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll(/[&<>"\t\n\r]/g, (character) => ENTITIES[character] ?? "");
}
