import { formatJunitXml, type JunitCase } from "../../terminal/report.ts";
import { printableLines } from "../../terminal/printing.ts";
import type { Gate } from "../exit-code.ts";
import {
  waiverText,
  type AssertionModel,
  type CoverageModel,
  type FormatContext,
  type ReportModel,
  assertionLinesOf,
  coverageMessage,
  cutText,
  INCOMPLETE,
  NOT_JUDGED,
  SO_FAR,
} from "./model.ts";
import { rowText, screenOf, type Screen } from "./screen/screen.ts";

/** Defaults of a case; no time is measured. */
const CASE = {
  position: null,
  outcome: "passed",
  message: null,
  lines: [],
  output: [],
  seconds: "0",
} as const;

/**
 * JUnit XML: a test case for each assertion, each gate of coverage and each gate of `--fail-on`,
 * and one that fails where not everything was decided.
 */
export function formatJunit(model: ReportModel, { verdict = null }: FormatContext): string {
  const { complete, assertions } = model;
  const screen = screenOf(model, { verdict });
  const { results, coverage } = assertions ?? { results: [], coverage: [] };
  const cases = [
    ...results.map((result) => assertionCase(result, complete)),
    ...coverage.map(coverageCase),
    ...(verdict?.gates ?? []).flatMap((gate) => gateCase(gate, screen)),
    completeCase(model, screen),
  ];
  const suite = { name: "assertions", file: assertions?.file ?? null, cases, seconds: "0" };
  // Controls of bidirectional text would make a name look like another in a page of test results.
  return printableLines(formatJunitXml("signalbox simulate", [suite], "0"));
}

function assertionCase(result: AssertionModel, complete: boolean): JunitCase {
  const { id, kind, status, title, message, waiver, needless, location } = result;
  const one = { ...CASE, name: id, className: kind, position: location };
  if (status === "PASS") {
    const output = [
      ...(complete ? [] : [`PASS so far: ${SO_FAR}`]),
      ...(needless === null ? [] : [needless]),
    ];
    return { ...one, output };
  }
  const lines = [
    `${location.file}:${location.line}:${location.column}`,
    title,
    ...assertionLinesOf(result),
  ];
  if (status === "FAIL") return { ...one, outcome: "failure", message: message ?? title, lines };
  const waived = waiver === null ? "waived" : `waived ${waiverText(waiver)}`;
  return { ...one, outcome: "skipped", message: waived, lines };
}

/** Skipped where no gate is set, or the run is incomplete. */
function coverageCase(result: CoverageModel): JunitCase {
  const { title, judgement, location, missing } = result;
  const one = { ...CASE, name: title, className: "coverage", position: location };
  if (judgement === "PASS") return one;
  const text = coverageMessage(result);
  const message =
    judgement === "not judged" ? NOT_JUDGED : judgement === "FAIL" ? text : `not gated; ${text}`;
  return {
    ...one,
    outcome: judgement === "FAIL" ? "failure" : "skipped",
    message,
    lines: [text, ...missing],
  };
}

/** Gates of `--fail-on`; assertions, coverage and completeness have cases of their own. */
function gateCase({ name, passed }: Gate, screen: Screen): readonly JunitCase[] {
  if (name === "assertions" || name === "coverage" || name === "complete") return [];
  const one = { ...CASE, name, className: "gate" };
  if (passed) return [one];
  const lines = screen.rows.filter(({ gates }) => gates.includes(name)).map(rowText);
  return [{ ...one, outcome: "failure", message: `the gate ${name} fails`, lines }];
}

function completeCase({ complete, cut, spaceText }: ReportModel, screen: Screen): JunitCase {
  const output = [screen.headline, ...screen.rows.map(rowText)];
  const one = { ...CASE, name: "simulation is complete", className: "simulation", output };
  if (complete) return one;
  const lines = [INCOMPLETE, ...cut.map(cutText), spaceText];
  return { ...one, outcome: "failure", message: "not every class of requests was decided", lines };
}
