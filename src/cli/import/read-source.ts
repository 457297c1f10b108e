import { readDocument } from "../../compile/authored/document.ts";
import type { ConfigNode, MapNode } from "../../compile/authored/tree.ts";
import { LARGEST_FILE } from "../../compile/file-tree.ts";
import type { Findings } from "../../compile/findings/findings.ts";
import { readNamedFile } from "../../policy/read-regular-file.ts";
import type { Item } from "./fields.ts";

/** A file of another gateway, as it was read; positions of its nodes name it. */
export interface ImportedText {
  /** As messages print it. */
  readonly shown: string;
  readonly text: string;
}

/** The file that is imported. */
export interface ImportedFile extends ImportedText {
  /** On disk, for files that it names. */
  readonly path: string;
}

/** Reads a file that was named by the user. @returns the reason as a sentence, where it cannot be read. */
export async function readImportedText(path: string, shown: string): Promise<ImportedText | string> {
  let bytes: Uint8Array | "too_large";
  try {
    bytes = await readNamedFile(path, LARGEST_FILE);
  } catch {
    return "cannot be read; check the path and its permissions";
  }
  if (bytes === "too_large") return `has more than ${LARGEST_FILE} bytes; split it, or leave out what is not routing`;
  try {
    return { shown, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return "is not UTF-8 text; convert it";
  }
}

/** The tree of YAML or JSON, which is YAML too; `null` where it has been reported why there is none. */
export function parseImported({ shown, text }: ImportedText, findings: Findings): ConfigNode | null {
  const lines = text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  // The compiler's own hint for an empty file is about routes.yaml.
  if (lines.replaceAll(/^\s*#.*$/gm, "").trim() === "") {
    findings.add("WRONG_TYPE", { line: 1, column: 1, file: shown }, "the file is empty", "name the right file");
    return null;
  }
  const tree = readDocument(lines, findings, shown, "1.1");
  return findings.failed ? null : tree;
}

/** The same for a file that must be a mapping. @param rule what it must be. @param fix how to begin it. */
export function parseMapping(file: ImportedText, findings: Findings, rule: string, fix?: string): MapNode | null {
  const tree = parseImported(file, findings);
  if (tree === null || tree.kind === "map") return tree;
  findings.add("WRONG_TYPE", tree.at, rule, fix);
  return null;
}

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
