import type { ChangeKind } from "../../../simulate/change-kind.ts";
import type { CauseReport, SourceLocation } from "../../../simulate/report/report.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { groupsOfCause } from "../../../simulate/report/cause-parts.ts";
import { effectsOf } from "./screen/effects.ts";
import { headlineOf } from "./screen/headline.ts";
import {
  FRESH,
  policyLine,
  changeWording,
  valueText,
  titleOf,
  worstChange,
} from "./wording/comparison.ts";
import { rowText, screenOf, type ScreenRow } from "./screen/screen.ts";
import type { AnnotationLevel } from "../../terminal/report.ts";
import {
  waiverText,
  type AssertionModel,
  type ReportModel,
  assertionLinesOf,
  coverageMessage,
  cutText,
  INCOMPLETE,
} from "./model.ts";
import { joinTexts, printable, printableLines } from "../../terminal/printing.ts";
import { textDigest } from "../../../simulate/text-digest.ts";

/** Subject of a notice: the rule id in SARIF. */
export type NoticeRule =
  | "incomplete"
  | "assertion_failed"
  | "assertion_waived"
  | "coverage_failed"
  | "dead_configuration"
  | "changed_entry"
  | "future_row_change"
  | ChangeKind;

/** One finding of a report, for formats that show it beside the files. */
export interface Notice {
  /** `null` for what is no result of a rule, such as the verdict. */
  readonly rule: NoticeRule | null;
  readonly level: AnnotationLevel;
  readonly location: SourceLocation | null;
  readonly title: string;
  /** The message below the title. */
  readonly message: string;
  /** The message of a format without titles. */
  readonly alone: string;
  /** Stable identity, so that a platform recognises the notice in later runs. */
  readonly fingerprints: Readonly<Record<string, string>> | null;
  /** Reason of a waiver; `null` for most. */
  readonly suppression: string | null;
}

type NoticeParts = Pick<Notice, "level" | "title" | "message"> & Partial<Notice>;

/**
 * Controls of bidirectional text and the like would make a name look like another beside the code
 * or in a log.
 */
function notice({
  location = null,
  title,
  message,
  alone = message,
  suppression = null,
  ...others
}: NoticeParts) {
  const shown: Notice = {
    rule: null,
    fingerprints: null,
    ...others,
    location,
    title: printable(title),
    message: printableLines(message),
    alone: printableLines(alone),
    suppression: suppression && printable(suppression),
  };
  return shown;
}

/** All notices of a report in the order of what matters most. */
export function noticesOf(model: ReportModel): readonly Notice[] {
  const { complete, assertions } = model;
  const screen = screenOf(model, {});
  const { headline, facts, counts, rows } = screen;
  const rowsOf = Map.groupBy(rows, ({ cause }) => cause);
  return [
    ...(complete ? [] : [incompleteNotice(model)]),
    notice({
      level: "notice",
      title: "Signalbox simulation",
      message: joinTexts(
        [
          headline,
          ...facts,
          counts,
          model.unchanged?.sentence ?? "",
          model.fresh ? FRESH : "",
          ...model.policyDifferences.map(policyLine),
        ],
        "\n",
      ),
    }),
    ...(assertions?.results ?? []).flatMap(assertionNotice),
    ...(assertions?.results ?? []).flatMap(needlessNotice),
    ...(assertions?.failedGates ?? []).map((gate) =>
      notice({
        rule: "coverage_failed",
        level: "error",
        location: gate.location,
        title: "coverage",
        message: coverageMessage(gate),
        fingerprints: fingerprint("coverage", [gate.what]),
      }),
    ),
    ...model.causes.map((cause) => causeNotice(cause, model, rowsOf.get(cause) ?? [])),
    ...(complete ? model.newFindings : []).map(({ kind, subject, location }) =>
      notice({
        rule: "dead_configuration",
        level: "notice",
        location,
        title: valueText(kind),
        message: `${valueText(kind)}: ${subject}`,
        fingerprints: fingerprint("finding", [kind, subject]),
      }),
    ),
  ];
}

function incompleteNotice({ cut }: ReportModel): Notice {
  const message = [INCOMPLETE, ...cut.map(cutText)].join("\n");
  return notice({ rule: "incomplete", level: "error", title: "incomplete", message });
}

function assertionNotice(result: AssertionModel): readonly Notice[] {
  const { id, status, title, waiver, location } = result;
  if (status === "PASS") return [];
  const lines = assertionLinesOf(result);
  const isFailed = status === "FAIL";
  return [
    notice({
      rule: isFailed ? "assertion_failed" : "assertion_waived",
      level: isFailed ? "error" : "notice",
      location,
      title: `${status} ${id}`,
      message: joinTexts([title, ...lines], "\n"),
      alone: [`${id}: ${title}`, ...lines].join("\n"),
      fingerprints: fingerprint("assertion", [id]),
      suppression: isFailed ? null : waiver === null ? "waived" : waiverText(waiver),
    }),
  ];
}

function needlessNotice({ id, needless, location }: AssertionModel): readonly Notice[] {
  return needless === null
    ? []
    : [notice({ level: "notice", location, title: `PASS ${id}`, message: needless })];
}

/** A changed line with its facts, under the rule of the worst change that follows from it. */
function causeNotice(cause: CauseReport, model: ReportModel, rows: readonly ScreenRow[]): Notice {
  const [first] = effectsOf(cause, model).effects;
  const kinds = groupsOfCause(cause, model).flatMap(({ group }) => group.kinds);
  const kind = kinds.length === 0 ? null : worstChange(kinds);
  const facts = rows.filter(({ tag }) => tag !== "CHANGE");
  const isLatent = facts.some(({ tag }) => tag === "LATENT");
  return notice({
    rule: kind ?? (isLatent ? "future_row_change" : "changed_entry"),
    level: kind === null ? (isLatent ? "warning" : "notice") : changeWording(kind).level,
    location: cause.entries[0]?.location ?? null,
    title: kind === null ? (isLatent ? "latent change" : "changed") : titleOf([...new Set(kinds)]),
    message: [
      // With what it does to callers who choose by price.
      rows.find(({ tag }) => tag === "CHANGE")?.text ?? headlineOf(cause, model),
      ...facts.map(rowText),
      ...(first === undefined ? [] : [`Try: ${explainCommand(first.group.explain)}`]),
    ].join("\n"),
    fingerprints: { "signalboxCause/v1": cause.id },
  });
}

/** The identity of a notice, which stays the same while the finding does. */
export function identityOf({ rule, fingerprints, alone }: Notice): string {
  return textDigest(JSON.stringify([rule, fingerprints ?? alone]), 32);
}

function fingerprint(kind: string, parts: readonly string[]): Readonly<Record<string, string>> {
  return { "signalboxResult/v1": textDigest(JSON.stringify([kind, ...parts])) };
}
