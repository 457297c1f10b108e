import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../../..");

/** What stands in a comment above a block; `docs/README.md` explains it to writers of pages. */
export type Mark =
  | { readonly kind: "not executed"; readonly reason: string }
  | { readonly kind: "executed by"; readonly file: string }
  | { readonly kind: "ends with"; readonly code: number };

/** A fenced block of a page. */
export interface Fence {
  /** Of the opening fence, from 1. */
  readonly line: number;
  /** First word of the info string; empty where there is none. */
  readonly language: string;
  /**
   * The rest of the info string: the path of the file that the block holds, or `>> path` where it
   * is added to one.
   */
  readonly info: string;
  /** Lines without the fence's indentation; ends with a line feed unless empty. */
  readonly text: string;
  readonly mark: Mark | null;
}

export const COMMAND_LANGUAGES: readonly string[] = [
  "sh",
  "bash",
  "zsh",
  "shell",
  "console",
  "shell-session",
  "powershell",
  "bat",
];

const OPENING = /^( *)(`{3,})(\S*) ?(.*)$/;
const MARK = /^<!-- (not executed|executed by|ends with): (.+) -->$/;

/**
 * The pages whose commands are for readers to run, by their paths from the root: all but decisions.
 */
export function pages(): readonly string[] {
  const below = (folder: string): readonly string[] =>
    readdirSync(join(ROOT, folder)).flatMap((name) => {
      const path = join(folder, name);
      return statSync(join(ROOT, path)).isDirectory() ? below(path) : [path];
    });
  const documents = below("docs").filter(
    (path) => path.endsWith(".md") && !path.startsWith("docs/decisions/"),
  );
  const outside = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].filter((path) =>
    existsSync(join(ROOT, path)),
  );
  return [...outside, ...documents.toSorted()];
}

export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** Every fenced block of a page, in order. @throws {Error} where a fence is not closed. */
export function fencesOf(page: string, text: string = textOf(page)): readonly Fence[] {
  const lines = text.split("\n");
  const fences: Fence[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const [, indent = "", fence = "", language = "", info = ""] =
      OPENING.exec(lines[index] ?? "") ?? [];
    if (fence === "") continue;
    const end = lines.findIndex(
      (line, location) => location > index && line.trimEnd() === `${indent}${fence}`,
    );
    if (end === -1) throw new Error(`${page}:${index + 1}: the block is not closed`);
    const body = lines.slice(index + 1, end).map((line) => `${line.slice(indent.length)}\n`);
    fences.push({
      line: index + 1,
      language,
      info,
      text: body.join(""),
      mark: markAbove(lines, index),
    });
    index = end;
  }
  return fences;
}

function markAbove(lines: readonly string[], opening: number): Mark | null {
  let above = opening - 1;
  while (above >= 0 && lines[above]?.trim() === "") above -= 1;
  const [, kind, value = ""] = MARK.exec(lines[above]?.trim() ?? "") ?? [];
  if (kind === "not executed") return { kind, reason: value };
  if (kind === "executed by") return { kind, file: value };
  if (kind === "ends with") return { kind, code: Number(value) };
  return null;
}

/** Where a block stands, for people. */
export function locationOf(page: string, { line, text }: Fence): string {
  return `${relative(ROOT, join(ROOT, page))}:${line}: ${text.split("\n", 1)[0] ?? ""}`;
}
