import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import type { SourceLocation } from "../../../../simulate/report/location.ts";
import type { SideReport } from "../../../../simulate/report/report.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import {
  amountText,
  listText,
  numberText,
  percentageText,
  usageTexts,
} from "../../../terminal/printing.ts";
import type { Verdict } from "../../exit-code.ts";
import type { FormatContext, ReportModel } from "../model.ts";
import type { Tone } from "../../../document/document.ts";
import { questionOf } from "./decide.ts";
import { effectsOf, groupsOfCause, isCounted, type Effect, type EffectTag } from "./effects.ts";
import { entryText, headlineOf, headlineOfSeveral, replacedText } from "./headline.ts";
import { latentOf } from "../wording/latent.ts";
import { cutRows, rowsOfCause, type PlainRow } from "./cause-rows.ts";

type ScreenTag = EffectTag | PlainRow["tag"] | "CHANGE" | "FAILS" | "WITH";

/** One line of the first screen. */
export interface ScreenRow {
  readonly tag: ScreenTag;
  readonly tone: Tone;
  /** Workspaces; empty where the line is about none. */
  readonly who: string;
  readonly text: string;
  /** "10 calls, 11.1 %, 90,000 tokens, 0.12 → 0.3 USD by list price"; empty without evidence. */
  readonly calls: string;
  /** `routes.yaml:61`; empty where there is no line. */
  readonly location: string;
}

/** What a reviewer reads in thirty seconds: the same in every format that people read. */
export interface Screen {
  readonly verdict: "FAIL" | "INCOMPLETE" | "REVIEW" | "SAME";
  readonly tone: Tone;
  readonly headline: string;
  readonly location: string;
  /** Sides, completeness, assertions, gates, evidence. */
  readonly facts: readonly string[];
  /** The most important first; a format may cut the end. */
  readonly rows: readonly ScreenRow[];
  /** The question that has to be answered; empty where there is none. */
  readonly decide: string;
  /** A command that explains the plainest affected request; `null` without one. */
  readonly explain: string | null;
  /** What stands behind it. */
  readonly more: string;
}

export function screenOf(
  report: ReportModel,
  { verdict = null }: Pick<FormatContext, "verdict">,
): Screen {
  const { causes, complete, unchanged } = report;
  const shown = causes.map((cause) => ({ cause, ...effectsOf(cause, report) }));
  const [first] = shown;
  const failed = (verdict?.exitCode ?? 0) === 3 || (report.assertions?.failed ?? 0) > 0;
  const verdictWord = failed
    ? "FAIL"
    : !complete
      ? "INCOMPLETE"
      : first === undefined && unchanged !== null
        ? "SAME"
        : "REVIEW";
  const single = causes.length === 1;
  return {
    verdict: verdictWord,
    tone: TONE_OF_VERDICT[verdictWord],
    headline:
      first === undefined
        ? (unchanged?.sentence.replace(/\.$/, "") ?? report.verdicts.declared)
        : single
          ? headlineOf(first.cause, report)
          : headlineOfSeveral(causes),
    location:
      first === undefined || !single ? "" : locationText(first.cause.entries[0]?.place ?? null),
    facts: factsOf(report, verdict),
    rows: [
      ...failedRows(report),
      ...shown.flatMap(({ cause, effects }) => [
        ...(single ? [] : [causeRow(cause, report)]),
        ...withRows(cause),
        ...effects.map((effect) => effectRow(effect, report)),
        ...rowsOfCause(cause, report, single).map(({ tag, tone, text }) =>
          plainRow(tag, tone, text),
        ),
      ]),
      ...cutRows(report).map(({ tag, tone, text }) => plainRow(tag, tone, text)),
    ],
    decide:
      first === undefined
        ? ""
        : questionOf(first.cause, {
            effects: first.effects,
            latent: latentOf(first.cause, report),
            settings: report.changed_settings,
          }),
    explain: explainOf(shown.flatMap(({ effects }) => effects)),
    more: moreText(
      report,
      shown.reduce((sum, { variants }) => sum + variants, 0),
    ),
  };
}

const TONE_OF_VERDICT = {
  FAIL: "stop",
  INCOMPLETE: "stop",
  REVIEW: "widen",
  SAME: "good",
} as const;

function locationText(place: SourceLocation | null): string {
  return place === null ? "" : `${place.file}:${place.line}`;
}

function plainRow(tag: ScreenTag, tone: Tone, text: string, where = ""): ScreenRow {
  return { tag, tone, who: "", text, calls: "", location: where };
}

function factsOf(report: ReportModel, verdict: Verdict | null): readonly string[] {
  const { base, head, complete, assertions, evidence } = report;
  const gates = verdict?.gates ?? [];
  const names = (passed: boolean) =>
    gates.filter((gate) => gate.passed === passed).map(({ name }) => name);
  const failing = names(false);
  const passing = names(true).filter((name) => name !== "complete" && name !== "assertions");
  const total = assertions === null ? 0 : assertions.results.length;
  return [
    `${nameOf(base)} → ${nameOf(head)}`,
    complete ? "complete" : "NOT COMPLETE",
    ...(assertions === null ? [] : [`assertions ${assertions.passed}/${total}`]),
    ...(verdict === null
      ? []
      : [
          `exit ${verdict.exitCode}${failing.length === 0 ? "" : `, fails: ${failing.join(", ")}`}${passingText(passing, failing.length > 0)}`,
        ]),
    ...(evidence === null ? [] : [`${amountText(evidence.decisions, "recorded call")} counted`]),
  ];
}

/** By name, or only counted beside those that fail. */
function passingText(names: readonly string[], isFailing: boolean): string {
  if (names.length === 0) return "";
  return isFailing
    ? `; ${numberText(names.length)} ${names.length === 1 ? "passes" : "pass"}`
    : `, passes: ${names.join(", ")}`;
}

/** "main 6b94393". */
function nameOf({ name, commit }: SideReport): string {
  return commit === null || commit.startsWith(name)
    ? name.slice(0, 40)
    : `${name} ${commit.slice(0, 7)}`;
}

function failedRows({ assertions }: ReportModel): readonly ScreenRow[] {
  if (assertions === null) return [];
  const failed = assertions.results.filter(({ status }) => status === "FAIL");
  const fresh = failed.filter(({ fails_in_base: known }) => known !== true);
  const gates = assertions.failedGates.filter(({ fails_in_base: known }) => known !== true);
  const old = failed.length - fresh.length;
  const oldGates = assertions.failedGates.length - gates.length;
  return [
    ...fresh.map(({ id, message, place }) => ({
      ...plainRow("FAILS", "stop", message ?? "it fails", locationText(place)),
      who: id,
    })),
    ...(old === 0
      ? []
      : [plainRow("FAILS", "narrow", `${amountText(old, "assertion")} that base fails too`)]),
    ...gates.map(({ title, text, missing, place }) => ({
      ...plainRow(
        "FAILS",
        "stop",
        `${text}; missing: ${listText(missing, 3)}`,
        locationText(place),
      ),
      who: `coverage of ${title}`,
    })),
    ...(oldGates === 0
      ? []
      : [
          plainRow(
            "FAILS",
            "narrow",
            `${amountText(oldGates, "coverage gate")} that base fails too`,
          ),
        ]),
  ];
}

function causeRow(cause: CauseReport, report: ReportModel): ScreenRow {
  return plainRow(
    "CHANGE",
    "widen",
    headlineOf(cause, report),
    locationText(cause.entries[0]?.place ?? null),
  );
}

/** Entries besides the first, without those that only follow a changed name. */
function withRows({ entries, renames }: CauseReport): readonly ScreenRow[] {
  const isRow = replacedText(entries) !== null || renames.length > 0;
  const others = isRow ? [] : entries.slice(1).filter(({ kind }) => kind !== "policy_setting");
  const [first] = entries;
  // The primary and the fallbacks of one route are described together.
  const rest = others.filter(({ kind, subject }) => kind !== "route" || subject !== first?.subject);
  if (rest.length === 0) return [];
  return [
    plainRow(
      "WITH",
      "quiet",
      listText(
        rest.map((entry) => `${entryText(entry)} (${locationText(entry.place)})`),
        2,
      ),
    ),
  ];
}

const TONES: Readonly<Record<EffectTag, Tone>> = {
  BREAKS: "stop",
  WIDENS: "widen",
  MOVES: "widen",
  NARROWS: "narrow",
  CHANGES: "quiet",
};

function effectRow(
  { tag, workspaces, text, detail, promoted, seen }: Effect,
  { evidence }: ReportModel,
): ScreenRow {
  const share =
    seen === null || evidence === null || evidence.decisions === 0
      ? ""
      : `, ${percentageText(seen.calls, evidence.decisions)}`;
  return {
    tag,
    tone: TONES[tag],
    who: listText(workspaces, 3),
    text: [text, ...(promoted ? ["once promoted"] : []), ...(detail === "" ? [] : [detail])].join(
      "; ",
    ),
    calls:
      seen === null
        ? ""
        : [`${amountText(seen.calls, "call")}${share}`, ...usageTexts(seen.usage, seen.calls)].join(
            ", ",
          ),
    location: "",
  };
}

/** Of the plainest request of the worst effect. */
function explainOf(effects: readonly Effect[]): string | null {
  const [first] = effects;
  return first === undefined ? null : explainCommand(first.group.explain);
}

function moreText(report: ReportModel, variants: number): string {
  const all = report.causes.flatMap((cause) =>
    groupsOfCause(cause, report).map(({ group }) => ({ group, cause })),
  );
  const reasons = all.filter(
    ({ group, cause }) => isCounted(group, cause) && !cause.renamed_groups.includes(group.id),
  ).length;
  const named = report.causes.reduce((sum, { renamed_groups: same }) => sum + same.length, 0);
  const findings = report.complete ? report.newFindings.length : 0;
  const parts = [
    variants === 0 ? "" : `${amountText(variants, "variant")} of requests with conditions`,
    reasons === 0 ? "" : amountText(reasons, "changed reason"),
    named === 0 ? "" : `${numberText(named)} with another name only`,
    findings === 0 ? "" : `${amountText(findings, "rule")} that no request uses`,
    report.assertions === null || report.assertions.coverage.length === 0 ? "" : "coverage",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : parts.join(", ");
}
