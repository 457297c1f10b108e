import { finding, type PolicyDiagnostic } from "../codes.ts";
import type { ModuleFacts } from "../toolchain/protocol.ts";
import type { PolicyFile } from "./sources.ts";

/** `# signalbox: later eu-north, sensitive` */
const LATER = /^later\s+(?<words>\S.*)$/u;

interface Waivers {
  /** Values that the file may compare with although nothing has them yet. */
  readonly later: ReadonlySet<string>;
  readonly diagnostics: readonly PolicyDiagnostic[];
}

/**
 * Reads the comments that let a file name values which do not exist yet. They apply to their own file.
 *
 * @param isComplete whether all comparisons are known: an error in any file leaves them out of all.
 */
export function readWaivers(
  file: PolicyFile,
  { path, comparisons, directives }: Pick<ModuleFacts, "path" | "comparisons" | "directives">,
  isComplete: boolean,
): Waivers {
  const later = new Set<string>();
  const diagnostics: PolicyDiagnostic[] = [];
  if (file.kind === "test") return { later, diagnostics };
  const compared = new Set(comparisons.map(({ value }) => value));
  for (const { row, col, text } of directives) {
    const location = { file: path, line: Math.max(1, row), column: Math.max(1, col) };
    const list = LATER.exec(text)?.groups?.["words"];
    if (list === undefined) {
      diagnostics.push(finding("POLICY_WAIVER", location, "the comment begins with `signalbox:` and names no values"));
      continue;
    }
    for (const value of list.split(",").map((one) => one.trim())) {
      later.add(value);
      if (compared.has(value) || !isComplete) continue;
      diagnostics.push(
        finding("POLICY_WAIVER", location, "the comment names a value that the file compares with nothing"),
      );
    }
  }
  return { later, diagnostics };
}
