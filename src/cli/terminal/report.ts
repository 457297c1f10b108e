import { compareDiagnostics, type Diagnostic, type Source } from "../../canon/diagnostic.ts";
import { EXIT, type CommandIo } from "./command-io.ts";
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

/** Facts that a report may show besides the findings. */
interface ReportContext {
  /** The files that the findings point into; the terminal prints their lines. */
  readonly sources?: readonly Source[];
  /** SHA-256 of the table; `null` when there is none. */
  readonly revision?: string | null;
  /** Warnings that a comment accepts. */
  readonly accepted?: readonly AcceptedWarning[];
  readonly colour?: boolean;
  /** Resolved presets; only the JSON shows them. */
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
  {
    sources = [],
    revision = null,
    accepted = [],
    colour = false,
    presets = [],
  }: ReportContext = {},
): string {
  switch (format) {
    case "terminal":
      return `${formatTerminal(diagnostics, sources, colour)}${accepted.map(acceptedLine).join("")}`;
    case "json":
      // Version 1 of this form: members are only ever added.
      return jsonText({
        version: 1,
        revision,
        ...count(diagnostics),
        ...(presets.length > 0 && { presets }),
        ...(accepted.length > 0 && { accepted }),
        diagnostics,
      });
    case "github":
      return diagnostics
        .map(({ severity: level, code: title, message, hint, ...location }) =>
          formatAnnotation({ level, location, title, message: withHint(message, hint) }),
        )
        .join("");
    case "sarif":
      return formatSarif([...diagnostics, ...accepted]);
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

/**
 * Prints the findings of a check; warnings that comments accept are apart.
 *
 * @param sources the files that the findings point into.
 */
export function printReport(
  format: ReportFormat,
  findings: readonly Diagnostic[],
  sources: readonly Source[],
  strict: boolean,
  io: CommandIo,
  facts: Pick<ReportContext, "revision" | "presets"> = {},
) {
  const { open, accepted } = acceptWarnings(findings, sources);
  const diagnostics = open.toSorted(compareDiagnostics);
  const context = { sources, accepted, colour: wantsColour(io), ...facts };
  io.stdout(formatDiagnostics(format, diagnostics, context));
  const hasErrors = diagnostics.some(({ severity }) => severity === "error");
  const failed = hasErrors || (strict && diagnostics.length > 0);
  return { diagnostics, hasErrors, exit: failed ? EXIT.failed : EXIT.ok };
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
    const lines = [
      `${paint(severity === "error" ? "red" : "yellow", severity)} ${paint("bold", code)}: ${printable(diagnostic.message)}`,
      `${margin}${paint("dim", "-->")} ${printable(file)}:${line}:${column}`,
    ];
    const excerpt = excerptOf(diagnostic, diagnostics, sources);
    if (excerpt !== null)
      lines.push(
        `${paint("dim", `${line} |`)} ${excerpt.text}`,
        `${paint("dim", `${margin} |`)} ${" ".repeat(excerpt.caret)}${paint("red", "^")}`,
      );
    if (hint !== "") lines.push(`${margin}${paint("dim", " =")} ${printable(hint)}`);
    return `${lines.join("\n")}\n`;
  });
  const { errors, warnings } = count(diagnostics);
  return [...blocks, `${amountText(errors, "error")}, ${amountText(warnings, "warning")}\n`].join(
    "\n",
  );
}

function acceptedLine({ code, file, line, column, reason }: AcceptedWarning) {
  return `accepted ${code} ${printable(file)}:${line}:${column}: ${printable(reason)}\n`;
}

/** Columns of the source that fit beside the margin of a terminal. */
const WIDEST = 140;
/** A longer line is not hand-written, and masking it would take long. */
const LONGEST = 4_000;

/**
 * The line, with everything masked that could be a credential; `null` where the line is known to
 * hold one, because no mask is as safe as not printing it.
 */
function excerptOf(
  { file, line, column }: Diagnostic,
  all: readonly Diagnostic[],
  sources: readonly Source[],
) {
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

function count(diagnostics: readonly Diagnostic[]) {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  return { errors, warnings: diagnostics.length - errors };
}

/**
 * SARIF 2.1.0, as code scanning reads it: every code that occurs is a rule with its meaning and
 * fix.
 */
function formatSarif(all: readonly (Diagnostic & { readonly reason?: string })[]): string {
  const levels = new Map(all.toReversed().map(({ code, severity }) => [code, severity]));
  const rules = [...levels]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([id, level]): SarifRule => {
      const { meaning, fix } = isRouteCode(id)
        ? ROUTE_CODES[id]
        : isAssertionCode(id)
          ? ASSERTION_CODES[id]
          : { meaning: id, fix: "See docs/policies.md." };
      return { id, meaning, fix, level };
    });
  return formatSarifLog(
    rules,
    all.map(({ code, severity, message, hint, reason, ...location }) => ({
      ruleId: code,
      level: severity,
      message: withHint(message, hint),
      location,
      suppression: reason,
    })),
  );
}

function withHint(message: string, hint: string) {
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
function acceptWarnings(diagnostics: readonly Diagnostic[], sources: readonly Source[]) {
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
  const isComment = (line: string) => /^\s*(?:#|$)/.test(line);
  return lines.flatMap((line, index): readonly Acceptance[] => {
    const found = COMMENT.exec(line);
    if (found === null) return [];
    const [, code, reason = ""] = found;
    const next = lines.findIndex((other, at) => at >= index && !isComment(other));
    const last = next < 0 ? lines.length : next + 1;
    // Findings about a whole file are at its first line.
    const isFileHeader = lines.slice(0, index).every(isComment);
    const covers = (at: number) => (at > index && at <= last) || (isFileHeader && at === 1);
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
  /** Why the case did not pass; `null` without a reason, and for one that passed. */
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
    suites.map((suite) =>
      formatElement(
        "testsuite",
        { name: suite.name, ...amounts(suite.cases, suite.seconds), file: suite.file },
        suite.cases.map(caseElement),
      ),
    ),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;
}

function amounts(cases: readonly JunitCase[], time: string) {
  const amount = (outcome: JunitCase["outcome"]) =>
    String(cases.filter((one) => one.outcome === outcome).length);
  return {
    tests: String(cases.length),
    failures: amount("failure"),
    errors: amount("error"),
    skipped: amount("skipped"),
    time,
  };
}

function caseElement({ outcome, message, lines, output, ...one }: JunitCase): string {
  const attributes = {
    name: one.name,
    classname: one.className,
    file: one.position?.file ?? null,
    line: one.position === null ? null : String(one.position.line),
    time: one.seconds,
  };
  const result =
    message === null
      ? formatElement(outcome, {}, [])
      : `<${outcome} message="${escapeXml(message)}">${escapeLines(lines)}</${outcome}>`;
  return formatElement("testcase", attributes, [
    ...(outcome === "passed" ? [] : [result]),
    ...(output.length === 0 ? [] : [`<system-out>${escapeLines(output)}</system-out>`]),
  ]);
}

/**
 * An XML element whose children are written already. Without indentation: white space that is put
 * around an element could end up in the text of the one around it.
 */
function formatElement(
  name: string,
  attributes: Readonly<Record<string, string | null>>,
  children: readonly string[],
): string {
  const attributeTexts = Object.entries(attributes).map(([key, value]) =>
    value === null ? "" : ` ${key}="${escapeXml(value)}"`,
  );
  const open = `<${name}${attributeTexts.join("")}`;
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

function escapeLines(lines: readonly string[]) {
  return lines.map(escapeXml).join("\n");
}

/**
 * XML 1.0 has no way to write most control characters and halves of surrogate pairs, so they are
 * replaced.
 */
function escapeXml(text: string) {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll(/[&<>"\t\n\r]/g, (character) => ENTITIES[character] ?? "");
}

/** Kinds of annotations of GitHub Actions. */
export type AnnotationLevel = "error" | "warning" | "notice";

interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface Annotation {
  readonly level: AnnotationLevel;
  /** `null`: the annotation belongs to no file. */
  readonly location: Location | null;
  readonly title: string;
  readonly message: string;
}

/**
 * A workflow command of GitHub Actions that annotates, with its line feed. Nothing in the texts can
 * begin another command or property.
 */
export function formatAnnotation({ level, location, title, message }: Annotation): string {
  const { file, line, column } = location ?? {};
  const where =
    file === undefined ? "" : `file=${escapeProperty(file)},line=${line},col=${column},`;
  return `::${level} ${where}title=${escapeProperty(title)}::${escapeData(message)}\n`;
}

function escapeData(text: string) {
  return printableLines(text).replaceAll("%", "%25").replaceAll("\n", "%0A");
}

function escapeProperty(text: string) {
  return escapeData(printable(text)).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

export type SarifLevel = "error" | "warning" | "note";

export interface SarifRule {
  readonly id: string;
  /** Meaning of a result of this rule. */
  readonly meaning: string;
  readonly fix: string;
  readonly level: SarifLevel;
}

export interface SarifResult {
  readonly ruleId: string;
  readonly level: SarifLevel;
  readonly message: string;
  /** `null`: the result belongs to no file. */
  readonly location: Location | null;
  /** Stable identities of the result, by the name of their method. */
  readonly fingerprints?: Readonly<Record<string, string>> | undefined;
  /** Why the result is accepted. */
  readonly suppression?: string | undefined;
}

/**
 * A log of SARIF 2.1.0 with one run, as code scanning reads it. `rules` are all that results name,
 * in their order.
 */
export function formatSarifLog(
  rules: readonly SarifRule[],
  results: readonly SarifResult[],
): string {
  const ids = rules.map(({ id }) => id);
  const run = {
    tool: {
      driver: {
        name: "signalbox",
        rules: rules.map(({ id, meaning, fix, level }) => ({
          id,
          shortDescription: { text: meaning },
          help: { text: fix },
          defaultConfiguration: { level },
        })),
      },
    },
    columnKind: "utf16CodeUnits",
    // Members without a value are not written.
    results: results.map(({ ruleId, level, message, location, fingerprints, suppression }) => ({
      ruleId,
      ruleIndex: ids.indexOf(ruleId),
      level,
      message: { text: inertText(message) },
      locations: location === null ? undefined : [locationObject(location)],
      partialFingerprints: fingerprints,
      suppressions:
        suppression === undefined
          ? undefined
          : [{ kind: "external", status: "accepted", justification: inertText(suppression) }],
    })),
  };
  return jsonText({ $schema: SARIF_SCHEMA, version: "2.1.0", runs: [run] });
}

const SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

/**
 * A plain text message makes a link of `[text](target)`; brackets after a backslash are text (SARIF
 * 2.1.0 §3.11.6). Names come from files.
 */
function inertText(message: string): string {
  const text = printableLines(message);
  return text.includes("](") ? text.replaceAll(/[\\[\]]/g, String.raw`\$&`) : text;
}

function locationObject({ file, line, column }: Location): object {
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
