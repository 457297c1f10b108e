import type { Diagnostic, Source } from "../canon/diagnostic.ts";

/** On a line of its own, or behind one. */
const COMMENT = /#\s*signalbox:\s*accept\b(?:\s+([A-Z][A-Z_]*)\s+because\s+(\S.*))?/;

/** A comment that accepts warnings of one code. */
interface Acceptance {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** `undefined`: the comment has another form, and accepts nothing. */
  readonly code: string | undefined;
  readonly reason: string;
  readonly covers: (line: number) => boolean;
}

/** A deliberate warning, with the reason of its comment. */
export interface AcceptedWarning extends Diagnostic {
  readonly reason: string;
}

/**
 * Separates the warnings that comments in their files accept. A comment without effect is a warning
 * itself.
 *
 * @example
 *   // # signalbox: accept MODEL_UNUSED because the model is for next month
 *   const { open, accepted } = acceptWarnings(diagnostics, sources);
 */
export function acceptWarnings(
  diagnostics: readonly Diagnostic[],
  sources: readonly Source[],
): { readonly open: readonly Diagnostic[]; readonly accepted: readonly AcceptedWarning[] } {
  const used = new Set<Acceptance>();
  const acceptances = sources.flatMap(acceptancesOf);
  const accepted: AcceptedWarning[] = [];
  const open = diagnostics.filter((finding) => {
    if (finding.severity !== "warning") return true;
    const acceptance = acceptances.find(
      ({ file, code, covers }) =>
        file === finding.file && code === finding.code && covers(finding.line),
    );
    if (acceptance === undefined) return true;
    used.add(acceptance);
    accepted.push({ ...finding, reason: acceptance.reason });
    return false;
  });
  const unused = acceptances.filter((one) => !used.has(one));
  return { open: [...open, ...unused.map(unusedWarning)], accepted };
}

function acceptancesOf({ path, text }: Source): readonly Acceptance[] {
  const lines = text.split(/\r\n?|\n/);
  const isComment = (line: string): boolean => /^\s*(?:#|$)/.test(line);
  return lines.flatMap((line, index): readonly Acceptance[] => {
    const found = COMMENT.exec(line);
    if (found === null) return [];
    const [, code, reason = ""] = found;
    const next = lines.findIndex((other, at) => at >= index && !isComment(other));
    const last = next < 0 ? lines.length : next + 1;
    // Findings about a whole file are at its first line.
    const isHead = lines.slice(0, index).every(isComment);
    const covers = (at: number): boolean => (at > index && at <= last) || (isHead && at === 1);
    return [
      { file: path, line: index + 1, column: found.index + 1, code, reason: reason.trim(), covers },
    ];
  });
}

function unusedWarning({ file, line, column, code }: Acceptance): Diagnostic {
  const message =
    code === undefined
      ? "the comment accepts nothing: it lacks the code or the reason"
      : `there is no warning ${code} at the line that the comment is for`;
  return {
    code: "ACCEPTANCE_UNUSED",
    severity: "warning",
    file,
    line,
    column,
    message,
    hint: "write `# signalbox: accept CODE because REASON` above the line of the warning, or remove it",
  };
}
