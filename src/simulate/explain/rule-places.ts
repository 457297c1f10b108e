import { basename, dirname } from "node:path/posix";
import type { Source } from "../../canon/diagnostic.ts";
import type { SourcePlace } from "../report/report.ts";

/**
 * Where a policy's `pass` rule for a constraint begins: the first that can pass, or the default where there is no other. Read off the text, line by
 * line; the constraint's declaration in METADATA where no rule is found.
 *
 * @returns `null` where no file of the policy names the constraint.
 */
export function rulePlace(sources: readonly Source[], policy: string, constraint: string): SourcePlace | null {
  const source = sources.find(({ path }) => basename(path) === `${policy}.rego` && basename(dirname(path)) !== "lib");
  if (source === undefined) return null;
  const lines = source.text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  const name = constraint.replaceAll(/[^\w]/g, "\\$&");
  const rule = new RegExp(`^pass(?:\\.${name}(?![\\w-])|\\s*\\[\\s*["\`]${name}["\`]\\s*\\])`);
  return (
    placeOf(source, lines, (line) => rule.test(line)) ??
    placeOf(
      source,
      lines,
      (line) => line.startsWith("default ") && rule.test(line.slice("default ".length).trimStart()),
    ) ??
    placeOf(source, lines, (line) => new RegExp(`^#\\s+["']?${name}["']?\\s*:`).test(line))
  );
}

function placeOf(source: Source, lines: readonly string[], holds: (line: string) => boolean): SourcePlace | null {
  for (const [index, text] of lines.entries()) {
    const line = text.trimStart();
    if (holds(line)) return { file: source.path, line: index + 1, column: text.length - line.length + 1 };
  }
  return null;
}
