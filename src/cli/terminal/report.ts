import type { Diagnostic, Source } from "../../canon/diagnostic.ts";
import { redactLine } from "../../compile/authored/literal-secrets.ts";
import type { ResolvedPreset } from "../../compile/presets.ts";
import { printable, jsonText, amountOf, wantsColour } from "./printing.ts";
import { formatSarifLog } from "./sarif.ts";
import { formatAnnotation } from "./workflow-command.ts";
import { isRouteCode, ROUTE_CODES } from "../../compile/findings/codes.ts";
import { ASSERTION_CODES, isAssertionCode } from "../../simulate/assertions/codes.ts";
import { painter } from "./layout.ts";
import { type CommandIo } from "./command-io.ts";

/** How findings can be printed. */
export const REPORT_FORMATS = ["terminal", "json", "github", "sarif"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** What a report may show besides the findings. */
interface ReportContext {
  /** The files that the findings point into; the terminal prints their lines. */
  readonly sources?: readonly Source[];
  /** SHA-256 of the table; `null` when there is none. */
  readonly revision?: string | null;
  readonly colour?: boolean;
  /** What presets came to; only the JSON shows it. */
  readonly presets?: readonly ResolvedPreset[];
}

/**
 * The whole report, with a line feed at its end; the empty string where a format prints nothing
 * without findings.
 *
 * @param diagnostics sorted.
 */
export function formatDiagnostics(
  format: ReportFormat,
  diagnostics: readonly Diagnostic[],
  context: ReportContext = {},
): string {
  switch (format) {
    case "terminal":
      return formatTerminal(diagnostics, context.sources ?? [], context.colour ?? false);
    case "json":
      return formatJson(diagnostics, context);
    case "github":
      return formatGithub(diagnostics);
    case "sarif":
      return formatSarif(diagnostics);
  }
}

/** Prints findings for a person, where standard output has something else. */
export function printFindings(
  diagnostics: readonly Diagnostic[],
  io: CommandIo,
  sources: readonly Source[] = [],
): void {
  io.stderr(formatDiagnostics("terminal", diagnostics, { sources, colour: wantsColour(io) }));
}

function formatTerminal(
  diagnostics: readonly Diagnostic[],
  sources: readonly Source[],
  colour: boolean,
): string {
  if (diagnostics.length === 0) return "";
  const paint = painter(colour);
  const blocks = diagnostics.map((diagnostic) => {
    const { severity, code, file, line, column, hint } = diagnostic;
    const margin = " ".repeat(String(line).length);
    const head = `${paint(severity === "error" ? "red" : "yellow", severity)} ${paint("bold", code)}: ${printable(diagnostic.message)}`;
    const lines = [head, `${margin}${paint("dim", "-->")} ${printable(file)}:${line}:${column}`];
    const excerpt = excerptOf(diagnostic, diagnostics, sources);
    if (excerpt !== null) {
      lines.push(`${paint("dim", `${line} |`)} ${excerpt.text}`);
      lines.push(`${paint("dim", `${margin} |`)} ${" ".repeat(excerpt.caret)}${paint("red", "^")}`);
    }
    if (hint !== "") lines.push(`${margin}${paint("dim", " =")} ${printable(hint)}`);
    return `${lines.join("\n")}\n`;
  });
  const { errors, warnings } = count(diagnostics);
  return [...blocks, `${amountOf(errors, "error")}, ${amountOf(warnings, "warning")}\n`].join("\n");
}

/** Columns of the source that fit beside the margin of a terminal. */
const WIDEST = 140;
/** A longer line is not hand-written, and masking it would take long. */
const LONGEST = 4_000;

/**
 * The line concerned with everything blotted out that could be a credential; `null` where the line
 * is known to hold one, since no mask is as safe as not printing it.
 */
function excerptOf(
  { file, line, column }: Diagnostic,
  all: readonly Diagnostic[],
  sources: readonly Source[],
): { readonly text: string; readonly caret: number } | null {
  const secret = all.some(
    (other) => other.code === "LITERAL_SECRET" && other.file === file && other.line === line,
  );
  const text = sources.find(({ path }) => path === file)?.text.split(/\r\n?|\n/)[line - 1];
  if (secret || text === undefined || text.trim() === "" || text.length > LONGEST) return null;
  const start = column > WIDEST ? column - Math.floor(WIDEST / 2) : 0;
  return {
    text: printable(redactLine(text).slice(start, start + WIDEST)),
    caret: Math.max(0, column - 1 - start),
  };
}

function count(diagnostics: readonly Diagnostic[]): {
  readonly errors: number;
  readonly warnings: number;
} {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  return { errors, warnings: diagnostics.length - errors };
}

/** Version 1 of this form: members are only ever added. */
function formatJson(
  diagnostics: readonly Diagnostic[],
  { revision = null, presets = [] }: ReportContext,
): string {
  const resolved = presets.length === 0 ? {} : { presets };
  return jsonText({ version: 1, revision, ...count(diagnostics), ...resolved, diagnostics });
}

/** Workflow commands of GitHub Actions: one annotation a finding. */
function formatGithub(diagnostics: readonly Diagnostic[]): string {
  return diagnostics
    .map(({ severity, code, message, hint, ...location }) =>
      formatAnnotation({
        level: severity,
        location,
        title: code,
        message: withHint(message, hint),
      }),
    )
    .join("");
}

function factsOf(code: string): { readonly meaning: string; readonly fix: string } {
  if (isRouteCode(code)) return ROUTE_CODES[code];
  return isAssertionCode(code)
    ? ASSERTION_CODES[code]
    : { meaning: code, fix: "See docs/policies.md." };
}

/**
 * SARIF 2.1.0, as code scanning reads it: every code that occurs is a rule with its meaning and
 * fix.
 */
function formatSarif(diagnostics: readonly Diagnostic[]): string {
  const codes = [...new Set(diagnostics.map(({ code }) => code))].toSorted();
  const rules = codes.map((code) => {
    const level = diagnostics.find((diagnostic) => diagnostic.code === code)?.severity ?? "error";
    const facts = factsOf(code);
    return { id: code, meaning: facts.meaning, fix: facts.fix, level };
  });
  const results = diagnostics.map(({ code, severity, message, hint, ...location }) => ({
    ruleId: code,
    level: severity,
    message: withHint(message, hint),
    location,
  }));
  return formatSarifLog(rules, results);
}

function withHint(message: string, hint: string): string {
  return hint === "" ? message : `${message} (${hint})`;
}
