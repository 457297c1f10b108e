import type { AssertionResult, CoverageResult, SimulationReport } from "../../../simulate/report/report.ts";
import { printable } from "../../terminal/printing.ts";
import { escapeXml, escapeXmlLines, formatElement } from "../../terminal/xml.ts";
import type { FormatContext } from "./context.ts";
import { COVERAGE_WORDING } from "./wording/change-words.ts";
import { spaceText } from "./wording/comparison.ts";
import {
  assertionLinesOf,
  coverageJudgement,
  coverageMessage,
  cutText,
  INCOMPLETE,
  needlessWaiver,
  NOT_JUDGED,
  SO_FAR,
  waiverText,
} from "./wording/messages.ts";

interface Case {
  readonly attributes: Readonly<Record<string, string>>;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly message: string;
  readonly lines: readonly string[];
}

/** JUnit XML: a test case for each assertion and each gate of coverage, and one that fails where not everything was decided. */
export function formatJunit(report: SimulationReport, _context: FormatContext): string {
  const { complete } = report;
  const { results, coverage } = report.assertions ?? { results: [], coverage: [] };
  const cases = [
    ...results.map((result) => assertionCase(result, complete)),
    ...coverage.map((result) => coverageCase(result, complete)),
    completeCase(report),
  ].map(seen);
  const count = (outcome: Case["outcome"]): string => String(cases.filter((one) => one.outcome === outcome).length);
  const amounts = {
    tests: String(cases.length),
    failures: count("failed"),
    errors: "0",
    skipped: count("skipped"),
    time: "0",
  };
  const file: Readonly<Record<string, string>> =
    report.assertions === null ? {} : { file: printable(report.assertions.file) };
  const suite = formatElement("testsuite", { name: "assertions", ...amounts, ...file }, cases.map(caseElement));
  const name = "signalbox simulate";
  return `<?xml version="1.0" encoding="UTF-8"?>\n${formatElement("testsuites", { name, ...amounts }, [suite])}\n`;
}

/** Controls of bidirectional text and the like would let a name say something else in a page of test results. */
function seen({ attributes, outcome, message, lines }: Case): Case {
  const shown = Object.entries(attributes).map(([name, value]) => [name, printable(value)] as const);
  return { attributes: Object.fromEntries(shown), outcome, message: printable(message), lines: lines.map(printable) };
}

function assertionCase(result: AssertionResult, complete: boolean): Case {
  const { id, kind, status, title, message, waiver, place } = result;
  const attributes = { name: id, classname: kind, file: place.file, line: String(place.line), time: "0" };
  if (status === "PASS") {
    const needless = needlessWaiver(result, complete);
    const lines = [...(complete ? [] : [`PASS so far: ${SO_FAR}`]), ...(needless === null ? [] : [needless])];
    return { attributes, outcome: "passed", message: "", lines };
  }
  const position = `${place.file}:${place.line}:${place.column}`;
  const lines = [position, title, ...assertionLinesOf(result)];
  if (status === "FAIL") return { attributes, outcome: "failed", message: message ?? title, lines };
  return {
    attributes,
    outcome: "skipped",
    message: waiver === null ? "waived" : `waived ${waiverText(waiver)}`,
    lines,
  };
}

/** Skipped where nothing was asked for, or nothing can be said. */
function coverageCase(result: CoverageResult, complete: boolean): Case {
  const { what, place, missing } = result;
  const where: Readonly<Record<string, string>> = place === null ? {} : { file: place.file, line: String(place.line) };
  const attributes = { name: COVERAGE_WORDING[what], classname: "coverage", ...where, time: "0" };
  const judgement = coverageJudgement(result, complete);
  if (judgement === "PASS") return { attributes, outcome: "passed", message: "", lines: [] };
  const text = coverageMessage(result);
  const message = judgement === "not judged" ? NOT_JUDGED : judgement === "FAIL" ? text : `not gated; ${text}`;
  return { attributes, outcome: judgement === "FAIL" ? "failed" : "skipped", message, lines: [text, ...missing] };
}

function completeCase(report: SimulationReport): Case {
  const message = "not every class of requests was decided";
  return {
    attributes: { name: "simulation is complete", classname: "simulation", time: "0" },
    outcome: report.complete ? "passed" : "failed",
    message,
    lines: report.complete ? [] : [INCOMPLETE, ...report.cut.map(cutText), spaceText(report)],
  };
}

function caseElement({ attributes, outcome, message, lines }: Case): string {
  if (outcome === "passed") {
    const output = lines.length === 0 ? [] : [`<system-out>${escapeXmlLines(lines)}</system-out>`];
    return formatElement("testcase", attributes, output);
  }
  const name = outcome === "failed" ? "failure" : "skipped";
  return formatElement("testcase", attributes, [
    `<${name} message="${escapeXml(message)}">${escapeXmlLines(lines)}</${name}>`,
  ]);
}
