import type { Assessment } from "./assessment.ts";
import type { OutcomeKind } from "./judge.ts";
import type { CaseResult } from "./run.ts";

const CLASSES: Readonly<Record<OutcomeKind, string>> = {
  right: "right",
  wrong: "wrong",
  refused: "unsupported built-in",
  not_compiling: "does not compile",
  not_expressible: "not expressible",
};

/** Longest excerpt of a result in the report, characters. */
const EXCERPT = 400;

/** The report as text for a terminal. @param opa the version of OPA in the toolchain. */
export function report(assessment: Assessment, opa: string): string {
  const { counts, refused, known, unexpected, outdated, notExpressible } = assessment;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const kinds = Object.entries(CLASSES) as [OutcomeKind, string][];
  return [
    `${total} cases, compiled with OPA ${opa}`,
    "",
    ...kinds.map(([kind, label]) => `${String(counts[kind]).padStart(6)}  ${label}`),
    ...section(
      `Unsupported built-ins: ${refused.length}, each with the number of cases`,
      refused.map(([name, cases]) => `${String(cases).padStart(6)}  ${name}`),
    ),
    ...section("Not expressible", notExpressible.map(line)),
    ...section(
      "Known differences (test/conformance/known-differences.ts)",
      known.map((result) => `${line(result)}\n    ${result.reason}`),
    ),
    ...section("UNEXPECTED: correct the cause, or list it with its reason", unexpected.map(line)),
    ...section("OUTDATED: listed as a known difference, but right now; remove the entry", outdated),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0
    ? []
    : ["", title, ...lines.map((text) => (/^\s/.test(text) ? text : `  ${text}`))];
}

function line({ testCase: { note, file }, outcome }: CaseResult): string {
  const detail = "detail" in outcome ? outcome.detail : "";
  const excerpt = detail.length > EXCERPT ? `${detail.slice(0, EXCERPT)}…` : detail;
  return `${note} (${file}): ${outcome.kind === "wrong" ? `gives ${excerpt}` : excerpt}`;
}
