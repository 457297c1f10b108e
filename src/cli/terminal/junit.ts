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
