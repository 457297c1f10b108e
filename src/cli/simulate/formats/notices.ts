import type { ChangeKind } from "../../../simulate/change-kind.ts";
import type {
  ChangeGroup,
  DataPath,
  RoutePath,
  SettingChange,
} from "../../../simulate/report/report.ts";
import type { SourceLocation } from "../../../simulate/report/location.ts";
import { ROUTE_PATHS_TITLE, routePathText, settingLine } from "./wording/settings.ts";
import type { CauseReport } from "../../../simulate/report/cause-report.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { effectsOf, groupsOfCause } from "./screen/effects.ts";
import { headlineOf } from "./screen/headline.ts";
import type { AnnotationLevel } from "../../terminal/report.ts";
import type { AssertionModel, ReportModel } from "./model.ts";
import { amountText, listText, printable, printableLines } from "../../terminal/printing.ts";
import {
  changeWording,
  valueText,
  NEW_DATA_PATH,
  titleOf,
  worstChange,
} from "./wording/change-wording.ts";
import { latentOf, latentText } from "./wording/latent.ts";
import { FRESH, policyLine } from "./wording/comparison.ts";
import {
  assertionLinesOf,
  coverageMessage,
  cutText,
  groupMessage,
  INCOMPLETE,
  pathMessage,
  tryLine,
  waiverText,
} from "./wording/messages.ts";
import { textDigest } from "../../../simulate/text-digest.ts";

/** What a notice is about: the id of a rule in SARIF. */
export type NoticeRule =
  | "incomplete"
  | "assertion_failed"
  | "assertion_waived"
  | "coverage_failed"
  | "new_route_path"
  | "new_data_path"
  | "setting_changed"
  | "dead_configuration"
  | "changed_entry"
  | "latent_change"
  | ChangeKind;

/** One finding of a report, for formats that show it beside the files. */
export interface Notice {
  /** `null` for what is no result of a rule, such as the verdict. */
  readonly rule: NoticeRule | null;
  readonly level: AnnotationLevel;
  readonly location: SourceLocation | null;
  /** For formats that show only what has a position: the one where a reader may begin. */
  readonly near: SourceLocation | null;
  readonly title: string;
  /** The message below the title. */
  readonly message: string;
  /** The message of a format without titles. */
  readonly alone: string;
  /** What stays the same while the notice stays the same. */
  readonly fingerprints: Readonly<Record<string, string>> | null;
  /** Why somebody decided to live with it; `null` for most. */
  readonly suppression: string | null;
}

type Said = Pick<Notice, "level" | "title" | "message"> & Partial<Notice>;

/**
 * Controls of bidirectional text and the like would make a name look like another beside the code
 * or in a log.
 */
function notice({
  location: place = null,
  near = null,
  title,
  message,
  alone = message,
  suppression = null,
  ...said
}: Said) {
  const shown: Notice = {
    rule: null,
    fingerprints: null,
    ...said,
    location: place,
    near: near ?? place,
    title: printable(title),
    message: printableLines(message),
    alone: printableLines(alone),
    suppression: suppression === null ? null : printable(suppression),
  };
  return shown;
}

/** All notices of a report in the order of what matters most. */
export function noticesOf(model: ReportModel): readonly Notice[] {
  const { complete, declared, difference, assertions } = model;
  const asIf = model.promotedTitle;
  return [
    ...(complete ? [] : [incompleteNotice(model)]),
    notice({
      level: "notice",
      title: "Signalbox simulation",
      message: verdictLines(model).join("\n"),
    }),
    ...policyNotices(model),
    ...(assertions?.results ?? []).flatMap(assertionNotice),
    ...(assertions?.results ?? []).flatMap(needlessNotice),
    ...(assertions?.failedGates ?? []).map((gate) =>
      notice({
        rule: "coverage_failed",
        level: "error",
        location: gate.place,
        title: "coverage",
        message: coverageMessage(gate),
        fingerprints: fingerprint("coverage", [gate.what]),
      }),
    ),
    ...model.causes.flatMap((cause) => causeNotice(cause, model)),
    // One result for each cause; groups and paths stand for themselves only where no cause is
    // known.
    ...(model.causes.length > 0
      ? []
      : [
          ...declared.new_route_paths.map((path) => routePathNotice(path, null)),
          ...difference.newRoutePaths.map((path) => routePathNotice(path, asIf)),
          ...declared.new_data_paths.map((path) => pathNotice(path, null, declared.groups)),
          ...difference.newDataPaths.map((path) => pathNotice(path, asIf, difference.onlyPromoted)),
          ...model.changed_settings.map(settingNotice),
          ...declared.groups.map((group) => groupNotice(group, null)),
          ...difference.onlyPromoted.map((group) => groupNotice(group, asIf)),
        ]),
    ...(complete ? model.newFindings : []).map(({ kind, subject, place }) =>
      notice({
        rule: "dead_configuration",
        level: "notice",
        location: place,
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

function verdictLines({
  unchanged,
  fresh,
  verdicts,
  promotedTitle,
  spaceText,
}: ReportModel): readonly string[] {
  return [
    ...(unchanged === null ? [] : [unchanged.sentence]),
    ...(fresh ? [FRESH] : []),
    verdicts.declared,
    `${promotedTitle}: ${verdicts.promoted}`,
    spaceText,
  ];
}

function policyNotices({ policyDifferences: policies }: ReportModel): readonly Notice[] {
  if (policies.length === 0) return [];
  const title = amountText(policies.length, "policy differs", "policies differ");
  return [notice({ level: "notice", title, message: policies.map(policyLine).join("\n") })];
}

function assertionNotice(result: AssertionModel): readonly Notice[] {
  const { id, status, title, waiver, place } = result;
  if (status === "PASS") return [];
  const lines = assertionLinesOf(result);
  const isFailed = status === "FAIL";
  return [
    notice({
      rule: isFailed ? "assertion_failed" : "assertion_waived",
      level: isFailed ? "error" : "notice",
      location: place,
      title: `${status} ${id}`,
      message: [title, ...lines].filter((text) => text !== "").join("\n"),
      alone: [`${id}: ${title}`, ...lines].join("\n"),
      fingerprints: fingerprint("assertion", [id]),
      suppression: isFailed ? null : waiver === null ? "waived" : waiverText(waiver),
    }),
  ];
}

function needlessNotice({ id, needless, place }: AssertionModel): readonly Notice[] {
  return needless === null
    ? []
    : [notice({ level: "notice", location: place, title: `PASS ${id}`, message: needless })];
}

function settingNotice(change: SettingChange): Notice {
  const { path, gate, where } = change;
  return notice({
    rule: "setting_changed",
    level: gate === null ? "notice" : "warning",
    location: where?.side === "head" ? where : null,
    title: `changed setting ${path}`,
    message: settingLine(change),
    fingerprints: fingerprint("setting", [path]),
  });
}

function routePathNotice(path: RoutePath, asIf: string | null): Notice {
  const { route, workspace, provider, region, host, place } = path;
  const message = `${routePathText(path)}\n${tryLine(path.explain)}`;
  return notice({
    rule: "new_route_path",
    level: "warning",
    location: place?.side === "head" ? place : null,
    title: asIf === null ? ROUTE_PATHS_TITLE : `${ROUTE_PATHS_TITLE} ${asIf}`,
    message,
    fingerprints: fingerprint("route_path", [route, workspace, provider, region, host]),
  });
}

/** @param asIf under which candidates; `null` for what holds as declared. */
function pathNotice(path: DataPath, asIf: string | null, groups: readonly ChangeGroup[]): Notice {
  const { workspace, operation, provider, region, host } = path;
  const message = pathMessage(path);
  return notice({
    rule: "new_data_path",
    level: "warning",
    near: path.other_host === null ? firstLocation(path, groups) : path.place,
    title: asIf === null ? NEW_DATA_PATH.title : `${NEW_DATA_PATH.title} ${asIf}`,
    message,
    alone: asIf === null ? message : `${asIf}: ${message}`,
    fingerprints: fingerprint("path", [workspace, operation, provider, region, host]),
  });
}

/** The position of the first group that sends requests of these routes there. */
function firstLocation(
  { provider, region, routes }: DataPath,
  groups: readonly ChangeGroup[],
): SourceLocation | null {
  const group = groups.find(
    ({ routes: changed, head, place }) =>
      place !== null &&
      changed.some((route) => routes.includes(route)) &&
      head.plan.some((there) => there.provider === provider && there.region === region),
  );
  return group?.place ?? null;
}

/** A changed line with its effects, under the rule of the worst of them. */
function causeNotice(cause: CauseReport, model: ReportModel): readonly Notice[] {
  const { effects } = effectsOf(cause, model);
  const kinds = groupsOfCause(cause, model).flatMap(({ group }) => group.words);
  const kind = kinds.length === 0 ? null : worstChange(kinds);
  const location = cause.entries[0]?.place ?? null;
  const headline = headlineOf(cause, model);
  const [first] = effects;
  const latent = latentOf(cause, model);
  const isWeaker = latent.some(({ direction }) => direction === "weaker");
  const lines = effects.map(({ tag, workspaces, text, detail, promoted }) =>
    [
      `${tag} ${listText(workspaces)}: ${text}`,
      ...(promoted ? ["once promoted"] : []),
      ...(detail === "" ? [] : [detail]),
    ].join("; "),
  );
  const tries = first === undefined ? [] : [`Try: ${explainCommand(first.group.explain)}`];
  const message = [
    headline,
    ...lines,
    ...latent.map((each) => `LATENT ${each.policy} ${latentText(each)}`),
    ...tries,
  ].join("\n");
  return [
    notice({
      rule: kind ?? (isWeaker ? "latent_change" : "changed_entry"),
      level: kind === null ? (isWeaker ? "warning" : "notice") : changeWording(kind).level,
      location,
      title:
        kind === null ? (isWeaker ? "latent change" : "changed") : titleOf([...new Set(kinds)]),
      message,
      fingerprints: { "signalboxCause/v1": cause.id },
    }),
  ];
}

function groupNotice(group: ChangeGroup, asIf: string | null): Notice {
  const kind = worstChange(group.words);
  const [title, message] = [titleOf(group.words), groupMessage(group)];
  return notice({
    rule: kind,
    level: changeWording(kind).level,
    location: group.place,
    title: asIf === null ? title : `${title} ${asIf}`,
    message,
    alone: asIf === null ? message : `${asIf}: ${message}`,
    fingerprints: { "signalboxGroup/v1": group.id },
  });
}

/** The identity of a notice, which stays the same while the finding does. */
export function identityOf({ rule, fingerprints, alone }: Notice): string {
  return textDigest(JSON.stringify([rule, fingerprints ?? alone]), 32);
}

function fingerprint(kind: string, parts: readonly string[]): Readonly<Record<string, string>> {
  return { "signalboxResult/v1": textDigest(JSON.stringify([kind, ...parts])) };
}
