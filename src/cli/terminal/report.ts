import type { Diagnostic, Source } from "../../canon/diagnostic.ts";
import type { CommandIo } from "./command-io.ts";
import {
  amountText,
  jsonText,
  painter,
  printable,
  printableLines,
  wantsColour,
} from "./printing.ts";
import { redactLine } from "../../compile/authored/literal-secrets.ts";
import { ROUTE_CODES, isRouteCode } from "../../compile/findings/codes.ts";
import type { ResolvedPreset } from "../../compile/presets.ts";
import { ASSERTION_CODES, isAssertionCode } from "../../simulate/assertions/codes.ts";

export const REPORT_FORMATS = ["terminal", "json", "github", "sarif"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** What a report may show besides the findings. */
interface ReportContext {
  /** The files that the findings point into; the terminal prints their lines. */
  readonly sources?: readonly Source[];
  /** SHA-256 of the table; `null` when there is none. */
  readonly revision?: string | null;
  /** Warnings that a comment accepts. */
  readonly accepted?: readonly AcceptedWarning[];
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
      return `${formatTerminal(diagnostics, context.sources ?? [], context.colour ?? false)}${(context.accepted ?? []).map(acceptedLine).join("")}`;
    case "json":
      return formatJson(diagnostics, context);
    case "github":
      return formatGithub(diagnostics);
    case "sarif":
      return formatSarif(diagnostics, context.accepted ?? []);
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
  return [...blocks, `${amountText(errors, "error")}, ${amountText(warnings, "warning")}\n`].join(
    "\n",
  );
}

function acceptedLine({ code, file, line, column, reason }: AcceptedWarning): string {
  return `accepted ${code} ${printable(file)}:${line}:${column}: ${printable(reason)}\n`;
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
  { revision = null, presets = [], accepted = [] }: ReportContext,
): string {
  const more = {
    ...(presets.length > 0 && { presets }),
    ...(accepted.length > 0 && { accepted }),
  };
  return jsonText({ version: 1, revision, ...count(diagnostics), ...more, diagnostics });
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
function formatSarif(
  diagnostics: readonly Diagnostic[],
  accepted: readonly AcceptedWarning[],
): string {
  const all: readonly (Diagnostic & { readonly reason?: string })[] = [...diagnostics, ...accepted];
  const codes = [...new Set(all.map(({ code }) => code))].toSorted();
  const rules = codes.map((code) => {
    const level = all.find((diagnostic) => diagnostic.code === code)?.severity ?? "error";
    const facts = factsOf(code);
    return { id: code, meaning: facts.meaning, fix: facts.fix, level };
  });
  const results = all.map(({ code, severity, message, hint, reason, ...location }) => ({
    ruleId: code,
    level: severity,
    message: withHint(message, hint),
    location,
    ...(reason !== undefined && { suppression: reason }),
  }));
  return formatSarifLog(rules, results);
}

function withHint(message: string, hint: string): string {
  return hint === "" ? message : `${message} (${hint})`;
}

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
interface AcceptedWarning extends Diagnostic {
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

/**
 * A test case of a report. Texts are written with XML's escapes; a caller with texts that must be
 * printable replaces them first.
 */
export interface JunitCase {
  readonly name: string;
  readonly className: string;
  /** `null`: the case belongs to no file. */
  readonly position: { readonly file: string; readonly line: number } | null;
  /** `passed`, or the element of another result. */
  readonly outcome: "passed" | "failure" | "error" | "skipped";
  /** Why the case did not pass; `null` where there is no reason, and for one that passed. */
  readonly message: string | null;
  /** Below the message. */
  readonly lines: readonly string[];
  /** The test's output, or a note on a case that passed. */
  readonly output: readonly string[];
  readonly seconds: string;
}

export interface JunitSuite {
  readonly name: string;
  /** `null`: the suite belongs to no file. */
  readonly file: string | null;
  readonly cases: readonly JunitCase[];
  readonly seconds: string;
}

/**
 * A report as CI servers read it, with a line feed at its end. Totals are counted from the cases.
 */
export function formatJunitXml(
  name: string,
  suites: readonly JunitSuite[],
  seconds: string,
): string {
  const all = suites.flatMap(({ cases }) => cases);
  const root = formatElement(
    "testsuites",
    { name, ...amounts(all, seconds) },
    suites.map(suiteElement),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;
}

function suiteElement({ name, file, cases, seconds }: JunitSuite): string {
  const attributes = { name, ...amounts(cases, seconds), ...(file === null ? {} : { file }) };
  return formatElement("testsuite", attributes, cases.map(caseElement));
}

function amounts(cases: readonly JunitCase[], seconds: string): Readonly<Record<string, string>> {
  const amount = (outcome: JunitCase["outcome"]): string =>
    String(cases.filter((one) => one.outcome === outcome).length);
  return {
    tests: String(cases.length),
    failures: amount("failure"),
    errors: amount("error"),
    skipped: amount("skipped"),
    time: seconds,
  };
}

function caseElement({
  name,
  className,
  position,
  outcome,
  message,
  lines,
  output,
  seconds,
}: JunitCase): string {
  const where = position === null ? {} : { file: position.file, line: String(position.line) };
  return formatElement("testcase", { name, classname: className, ...where, time: seconds }, [
    ...(outcome === "passed" ? [] : [outcomeElement(outcome, message, lines)]),
    ...(output.length === 0 ? [] : [`<system-out>${escapeLines(output)}</system-out>`]),
  ]);
}

function outcomeElement(name: string, message: string | null, lines: readonly string[]): string {
  if (message === null) return formatElement(name, {}, []);
  return `<${name} message="${escapeXml(message)}">${escapeLines(lines)}</${name}>`;
}

/**
 * An XML element whose children are written already. Without indentation: white space that is put
 * around an element could end up in the text of the one around it.
 */
function formatElement(
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
  // A parser turns these into spaces inside of an attribute, and the last one into a line feed
  // everywhere.
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

function escapeLines(lines: readonly string[]): string {
  return lines.map(escapeXml).join("\n");
}

/**
 * XML 1.0 has no way to write most control characters and halves of surrogate pairs, so they are
 * replaced.
 */
function escapeXml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll(/[&<>"\t\n\r]/g, (character) => ENTITIES[character] ?? "");
}

/** What GitHub Actions makes of an annotation. */
export type AnnotationLevel = "error" | "warning" | "notice";

interface Annotation {
  readonly level: AnnotationLevel;
  /** `null`: the annotation belongs to no file. */
  readonly location: {
    readonly file: string;
    readonly line: number;
    readonly column: number;
  } | null;
  readonly title: string;
  readonly message: string;
}

/**
 * A workflow command of GitHub Actions that annotates, with its line feed. Nothing in the texts can
 * begin another command or property.
 */
export function formatAnnotation({ level, location, title, message }: Annotation): string {
  const where =
    location === null
      ? []
      : [
          `file=${escapeProperty(location.file)}`,
          `line=${location.line}`,
          `col=${location.column}`,
        ];
  return `::${level} ${[...where, `title=${escapeProperty(title)}`].join(",")}::${escapeData(message)}\n`;
}

function escapeData(text: string): string {
  return printableLines(text).replaceAll("%", "%25").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(printable(text)).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

export type SarifLevel = "error" | "warning" | "note";

export interface SarifRule {
  readonly id: string;
  /** What a result of this rule means. */
  readonly meaning: string;
  readonly fix: string;
  readonly level: SarifLevel;
}

export interface SarifResult {
  readonly ruleId: string;
  readonly level: SarifLevel;
  readonly message: string;
  /** `null`: the result belongs to no file. */
  readonly location: {
    readonly file: string;
    readonly line: number;
    readonly column: number;
  } | null;
  /** What stays the same while the result stays the same, by the name of the way it is made. */
  readonly fingerprints?: Readonly<Record<string, string>>;
  /** Why the result is accepted. */
  readonly suppression?: string;
}

/**
 * A log of SARIF 2.1.0 with one run, as code scanning reads it. `rules` are all that results name,
 * in their order.
 */
export function formatSarifLog(
  rules: readonly SarifRule[],
  results: readonly SarifResult[],
): string {
  const indices = new Map(rules.map(({ id }, index) => [id, index]));
  const run = {
    tool: { driver: { name: "signalbox", rules: rules.map(ruleObject) } },
    columnKind: "utf16CodeUnits",
    results: results.map((result) => resultObject(result, indices)),
  };
  return jsonText({ $schema: SARIF_SCHEMA, version: "2.1.0", runs: [run] });
}

const SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

function ruleObject({ id, meaning, fix, level }: SarifRule): object {
  return {
    id,
    shortDescription: { text: meaning },
    help: { text: fix },
    defaultConfiguration: { level },
  };
}

function resultObject(result: SarifResult, indices: ReadonlyMap<string, number>): object {
  const { ruleId, level, message, location, fingerprints, suppression } = result;
  return {
    ruleId,
    ruleIndex: indices.get(ruleId) ?? -1,
    level,
    message: { text: inertText(message) },
    ...(location === null ? {} : { locations: [locationObject(location)] }),
    ...(fingerprints === undefined ? {} : { partialFingerprints: fingerprints }),
    ...(suppression === undefined
      ? {}
      : {
          suppressions: [
            { kind: "external", status: "accepted", justification: inertText(suppression) },
          ],
        }),
  };
}

/**
 * A plain text message makes a link of `[text](target)`; brackets after a backslash are text (SARIF
 * 2.1.0 §3.11.6). Names come from files.
 */
function inertText(message: string): string {
  const text = printableLines(message);
  return text.includes("](") ? text.replaceAll(/[\\[\]]/g, String.raw`\$&`) : text;
}

function locationObject({ file, line, column }: NonNullable<SarifResult["location"]>): object {
  return {
    physicalLocation: {
      artifactLocation: {
        uri: file.toWellFormed().split("/").map(encodeURIComponent).join("/"),
        uriBaseId: "%SRCROOT%",
      },
      region: { startLine: line, startColumn: column },
    },
  };
}
