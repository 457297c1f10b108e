import type { Item } from "./fields.ts";
import type { ImportedText } from "./read-source.ts";

const ID = /^[A-Za-z0-9~@][\w.:~@/+-]{0,255}$/;

/**
 * The ids of a plain list, one a line, `#` before remarks; `null` where the text is something else. After an id with a maker, a line that is none is an item
 * too, so that it is reported and the file is not taken for broken YAML.
 */
export function modelLines({ shown, text }: ImportedText): readonly Item[] | null {
  const items: Item[] = [];
  let isList = false;
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n?|\n/)
    .entries()) {
    const value = line.replace(/(?:^|\s)#.*$/, "").trim();
    if (value === "") continue;
    if (!ID.test(value) && !isList) return null;
    isList ||= value.includes("/") && !value.endsWith(":");
    const at = { line: index + 1, column: line.indexOf(value) + 1, file: shown };
    items.push({ path: [items.length], at, node: { kind: "scalar", at, value } });
  }
  return items.length === 0 ? null : items;
}
