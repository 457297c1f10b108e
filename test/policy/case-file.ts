import type { Diagnostic, Source } from "../../src/canon/diagnostic.ts";

/** A case on disk: a sentence about it, some files, and what compiling them reports. */
export interface PolicyCase {
  readonly about: string;
  readonly sources: readonly Source[];
  readonly expected: string;
}

const HEADING = /^-- (.+) --\n/m;
const EXPECTATION = "diagnostics";

/**
 * Reads `about`, then parts that each begin with a line `-- path --`, the last of them
 * `-- diagnostics --`.
 */
export function parseCase(text: string): PolicyCase {
  const [about = "", ...parts] = text.split(HEADING);
  const sources: Source[] = [];
  let expected: string | null = null;
  for (let index = 0; index < parts.length; index += 2) {
    const [path = "", body = ""] = parts.slice(index, index + 2);
    if (path === EXPECTATION) expected = body;
    else sources.push({ path, text: body });
  }
  if (expected === null) throw new Error(`the case has no part -- ${EXPECTATION} --`);
  return { about: about.trim(), sources, expected };
}

/** A finding in two lines, as a case holds it. */
export function printDiagnostics(diagnostics: readonly Diagnostic[]): string {
  return diagnostics
    .map(({ file, line, column, severity, code, message, hint }) => {
      const position = `${file}:${line}:${column}`;
      return `${position} ${severity} ${code}: ${message}\n    ${hint}\n`;
    })
    .join("");
}
