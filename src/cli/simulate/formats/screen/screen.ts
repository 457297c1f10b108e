import type { CauseReport, SideReport } from "../../../../simulate/report/report.ts";
import {
  groupsOfCause,
  settingsOf,
  isWithoutEffect,
} from "../../../../simulate/report/cause-parts.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import {
  amountText,
  countText,
  joinTexts,
  listText,
  percentageText,
  usageTexts,
} from "../../../terminal/printing.ts";
import type { Verdict } from "../../exit-code.ts";
import type { FormatContext, ReportModel } from "../model.ts";
import type { Tone } from "../../../document/document.ts";
import { questionOf, headlineOf, waitsForPromotion, locationText } from "./headline.ts";
import { concernsRoute } from "./effect-text.ts";
import { bySeen, type SeenWeight } from "../../../../simulate/evidence/seen-usage.ts";
import {
  effectsOf,
  gateTest,
  isOnlyCounted,
  refusesPreferencesOnly,
  NEW_PATH,
  rankOf,
  type Effect,
} from "./effects.ts";
import { ROW_KINDS, type ScreenTag } from "../wording/comparison.ts";
import { pricedText, rowsOfCause, rowsOfChange, sameText } from "./cause-rows.ts";

/** One fact of the first screen. */
export interface ScreenRow {
  readonly tag: ScreenTag;
  readonly tone: Tone;
  /** Workspaces; empty where the fact is about none. */
  readonly who: string;
  readonly text: string;
  /** "10 calls, 11.1 %, 90,000 tokens, 0.12 → 0.3 USD by list price"; empty without evidence. */
  readonly calls: string;
  /** `routes.yaml:61`; empty where there is no line, or the headline of the cause has it. */
  readonly location: string;
  /** Failing gates that the fact meets. */
  readonly gates: readonly string[];
  /** The cause that the fact follows from; `null` where it is about the whole change. */
  readonly cause: CauseReport | null;
  /** Whether every format has it, however long the report is. */
  readonly alwaysShown: boolean;
  /** Rank among rows, the most important first. */
  readonly rank: number;
  readonly seen: SeenWeight | null;
}

/** "BREAKS clinic: chat-eu refused": a row for formats without columns. */
export function rowText({ tag, who, text }: ScreenRow): string {
  return `${tag} ${who && `${who}: `}${text}`;
}

/** Headlines of more causes are cut too, and each row has its line. */
const MOST_CHANGES = 6;

export type Screen = ReturnType<typeof screenOf>;

/**
 * The first screen, for a decision in thirty seconds; the same facts in every format for people.
 */
export function screenOf(report: ReportModel, { verdict = null }: Pick<FormatContext, "verdict">) {
  const { causes, changing, complete, unchanged } = report;
  const failing = (verdict?.gates ?? []).flatMap(({ name, passed }) => (passed ? [] : [name]));
  const gatesOf = gateTest(report, failing, verdict?.promoting === true);
  const shown = causes.map((cause) => ({ cause, ...effectsOf(cause, report, gatesOf) }));
  const found = shown.flatMap((one) => causeFacts(one, report, failing));
  const facts = withFallbacks(
    [
      ...failedFacts(report),
      ...found,
      ...rowsOfChange(report).map(([tag, text]) => plainFact(tag, text)),
    ],
    failing,
  );
  const sorted = withoutRepetition(facts).toSorted(
    (left, right) =>
      Number(right.gates.length > 0) - Number(left.gates.length > 0) ||
      left.rank - right.rank ||
      bySeen(left.seen, right.seen),
  );
  const inOrder = sorted.flatMap(({ cause }) => cause ?? []);
  const worst = inOrder.find((cause) => changing.includes(cause));
  const rows = rowsByCause(sorted, worst, changing.length > MOST_CHANGES);
  const byCause = new Map(shown.map((one) => [one.cause, one]));
  const ranked = [...new Set([...(worst === undefined ? [] : [worst]), ...inOrder, ...causes])];
  const effectsInOrder = ranked.flatMap((cause) => byCause.get(cause) ?? []);
  const failed = (verdict?.exitCode ?? 0) === 3 || (report.assertions?.failed ?? 0) > 0;
  const verdictWord = failed
    ? "FAIL"
    : !complete
      ? "INCOMPLETE"
      : changing.length === 0 && unchanged !== null
        ? "SAME"
        : "REVIEW";
  const [simplest] = effectsInOrder.flatMap(({ effects }) => effects);
  const others = changing.length - 1;
  const broken = effectsInOrder[0]?.effects.filter(
    (effect) => effect.tag === "BREAKS" && !effect.promoted && !refusesPreferencesOnly(effect),
  );
  const refusedWorkspaces = listText(
    [...new Set(broken?.flatMap(({ workspaces }) => workspaces))],
    3,
  );
  // Other headlines are about refusals themselves, or only have those.
  const outage =
    refusedWorkspaces === "" || worst?.entries[0]?.kind !== "route" || worst.gains.length === 0
      ? ""
      : `; ${refusedWorkspaces} refused`;
  return {
    verdict: verdictWord,
    tone: TONE_OF_VERDICT[verdictWord],
    headline:
      worst === undefined
        ? (unchanged?.sentence.replace(/\.$/, "") ?? report.verdicts.declared)
        : `${headlineOf(worst, report)}${outage}${others === 0 ? "" : `; and ${amountText(others, "more change")}`}`,
    location: worst === undefined ? "" : locationText(worst.entries[0]?.location ?? null),
    /** Sides, completeness, assertions, gates, evidence. */
    facts: factsOf(report, verdict, failing),
    /** Cause by cause: facts that meet a failing gate first, then by importance. */
    rows,
    /** Questions that have to be answered, one for each cause that raises one. */
    decide: [
      ...new Set(effectsInOrder.map(({ cause, effects }) => questionOf(cause, effects, report))),
    ].filter((question) => question !== ""),
    /** A command that explains the simplest affected request; `null` without one. */
    explain: simplest === undefined ? null : explainCommand(simplest.group.explain),
    /** Contents of the details. */
    more: moreText(
      report,
      shown.reduce((sum, { variants }) => sum + variants, 0),
    ),
    /** "1 breaks, 2 widen, 4 same": how many facts there are of each kind. */
    counts: countsText(rows),
  };
}

/**
 * One cause after the other, each under its headline; that of the worst is the report's.
 *
 * @param isLong whether headlines are cut, so that each row needs its own line.
 */
function rowsByCause(
  sorted: readonly ScreenRow[],
  worst: CauseReport | undefined,
  isLong: boolean,
): readonly ScreenRow[] {
  const byCause = Map.groupBy(sorted, ({ tag, cause }) => (tag === "FAILS" ? tag : (cause ?? tag)));
  return [...byCause].flatMap(([key, facts]) => {
    const headlines = facts.filter(({ tag }) => tag === "CHANGE");
    const others = facts.filter(({ tag }) => tag !== "CHANGE");
    const shown = key === worst ? headlines.filter(({ gates }) => gates.length > 0) : headlines;
    const isSeparate = isLong || typeof key === "string";
    return [...shown, ...others].map((row, index) => ({
      ...row,
      alwaysShown: row.alwaysShown || row.gates.length > 0 || (!isSeparate && index === 0),
      location: isSeparate || (index === 0 && key !== worst) ? row.location : "",
    }));
  });
}

const TONE_OF_VERDICT = {
  FAIL: "stop",
  INCOMPLETE: "stop",
  REVIEW: "widen",
  SAME: "good",
} as const;

function plainFact(
  tag: ScreenTag,
  text: string,
  others: Partial<Omit<ScreenRow, "tag" | "text">> = {},
): ScreenRow {
  const { tone, isCut } = ROW_KINDS[tag];
  return {
    tag,
    tone,
    who: "",
    text,
    calls: "",
    location: "",
    gates: [],
    cause: null,
    alwaysShown: !isCut,
    seen: null,
    rank: rankOf(tag),
    ...others,
  };
}

function factsOf(
  { base, head, complete, assertions, evidence }: ReportModel,
  verdict: Verdict | null,
  failing: readonly string[],
): readonly string[] {
  return [
    `${nameOf(base)} → ${nameOf(head)}`,
    complete ? "complete" : "NOT COMPLETE",
    assertions === null ? "" : `assertions ${assertions.passed}/${assertions.results.length}`,
    verdict === null
      ? ""
      : `exit ${verdict.exitCode}${failing.length === 0 ? "" : `, fails: ${failing.join(", ")}`}`,
    evidence === null ? "" : `${amountText(evidence.decisions, "recorded call")} counted`,
  ].filter((fact) => fact !== "");
}

/** "main 6b94393". */
function nameOf({ name, commit }: SideReport) {
  return commit === null || commit.startsWith(name)
    ? name.slice(0, 40)
    : `${name} ${commit.slice(0, 7)}`;
}

/** Assertions and coverage gates that fail; those that base fails too are counted. */
function failedFacts(report: ReportModel): readonly ScreenRow[] {
  const { assertions } = report;
  if (assertions === null) return [];
  const failed = assertions.results.filter(({ status }) => status === "FAIL");
  const causes = failed.length === 0 ? null : causesByRequest(report);
  const failsInBase = ({ fails_in_base: inBase }: { readonly fails_in_base?: boolean | null }) =>
    inBase === true;
  const oldFact = (
    all: readonly Parameters<typeof failsInBase>[0][],
    what: string,
    gate: string,
  ) => {
    const amount = all.filter(failsInBase).length;
    const text = `${amountText(amount, what)} that base fails too`;
    return amount === 0 ? [] : [plainFact("FAILS", text, { tone: "narrow", gates: [gate] })];
  };
  return [
    ...failed
      .filter((result) => !failsInBase(result))
      .map(({ id, message, location, example }) =>
        plainFact("FAILS", message ?? "it fails", {
          who: id,
          location: locationText(location),
          gates: ["assertions"],
          cause: causes?.get(`${example?.workspace}\n${example?.model}`) ?? null,
        }),
      ),
    ...assertions.failedGates
      .filter((gate) => !failsInBase(gate))
      .map(({ title, text, missing, location }) =>
        plainFact("FAILS", `${text}; missing: ${listText(missing, 3)}`, {
          who: `coverage of ${title}`,
          location: locationText(location),
          gates: ["coverage"],
        }),
      ),
    ...oldFact(failed, "assertion", "assertions"),
    ...oldFact(assertions.failedGates, "coverage gate", "coverage"),
  ];
}

/** The first cause that changes requests of a workspace and route, by both. */
function causesByRequest(report: ReportModel): ReadonlyMap<string, CauseReport> {
  const found = new Map<string, CauseReport>();
  for (const cause of report.causes.toReversed()) {
    for (const { group } of groupsOfCause(cause, report)) {
      for (const workspace of group.workspaces)
        for (const route of group.routes) found.set(`${workspace}\n${route}`, cause);
    }
  }
  return found;
}

type ShownCause = { readonly cause: CauseReport } & ReturnType<typeof effectsOf>;

function causeFacts(
  { cause, effects, priced }: ShownCause,
  report: ReportModel,
  failing: readonly string[],
): readonly ScreenRow[] {
  const { changing } = report;
  const isOnlyChange = changing.length === 1;
  const [first] = cause.entries;
  const origin = { cause, location: locationText(first?.location ?? null) };
  if (isWithoutEffect(cause)) {
    return cause.entries.map((entry) =>
      plainFact("SAME", sameText(entry), { location: locationText(entry.location) }),
    );
  }
  const gates = settingGates(cause, report, failing);
  const latentGates = failing.filter(
    (gate) => gate === "more_permissive" || gate === "weaker_obligation",
  );
  const priceText = priced.length === 0 ? "" : pricedText(priced, report);
  // The row of an endpoint that a route gains has all of its headline.
  const isDescribed =
    gates.length === 0 &&
    concernsRoute(cause) &&
    cause.gains.length === 1 &&
    !waitsForPromotion(cause, report) &&
    effects.some(({ tag }) => tag === "WIDENS");
  const isLong = changing.length > MOST_CHANGES;
  const isSeparate = isOnlyChange || isLong;
  const change = isSeparate || priceText === "" ? "" : `; ${priceText}`;
  return [
    ...effects.map((effect) => ({ ...effectFact(effect, cause, report), ...origin })),
    ...rowsOfCause(cause, report, isOnlyChange).map(([tag, text]) =>
      plainFact(tag, text, { ...origin, gates: tag === "LATENT" ? latentGates : [] }),
    ),
    ...(isSeparate && priceText !== "" ? [plainFact("NOTE", priceText, origin)] : []),
    ...(isDescribed
      ? []
      : [
          plainFact("CHANGE", `${headlineOf(cause, report)}${change}`, {
            ...origin,
            gates,
            alwaysShown: !isLong,
          }),
        ]),
  ];
}

/** Failing gates that settings of a cause meet. */
function settingGates(
  { entries }: CauseReport,
  { changed_settings: settings }: ReportModel,
  failing: readonly string[],
): readonly string[] {
  const met = entries.flatMap((entry) => settingsOf(entry, settings).map(({ gate }) => gate));
  return failing.filter((gate) => met.some((one) => one === gate));
}

/** A failing gate that no fact meets has a fact of its own. */
function withFallbacks(
  facts: readonly ScreenRow[],
  failing: readonly string[],
): readonly ScreenRow[] {
  const met = new Set(facts.flatMap(({ gates }) => gates));
  // Notices have what is missing of an incomplete run.
  const unmet = failing.filter((gate) => !met.has(gate) && gate !== "complete");
  return [
    ...facts,
    ...unmet.map((gate) =>
      plainFact("FAILS", "by requests with conditions or by settings, in the details", {
        who: gate,
        gates: [gate],
      }),
    ),
  ];
}

/** Two causes of one change lead to the same fact. */
function withoutRepetition(facts: readonly ScreenRow[]): readonly ScreenRow[] {
  const byText = Map.groupBy(facts, ({ tag, who, text }) => JSON.stringify([tag, who, text]));
  return [...byText.values()].flatMap(([first]) => first ?? []);
}

function countsText(rows: readonly ScreenRow[]): string {
  const counts = Object.entries(ROW_KINDS).map(([kind, { many }]) => {
    const amount = rows.filter(({ tag }) => tag === kind).length;
    return countText(amount, kind.toLowerCase(), many);
  });
  return joinTexts(counts);
}

function effectFact(effect: Effect, cause: CauseReport, report: ReportModel): ScreenRow {
  const { evidence } = report;
  const { tag, workspaces, text, detail, promoted, seen, gates } = effect;
  const share =
    seen === null || evidence === null || evidence.decisions === 0
      ? ""
      : `, ${percentageText(seen.calls, evidence.decisions)}`;
  const once = promoted && !waitsForPromotion(cause, report) ? "once promoted" : "";
  return plainFact(tag, joinTexts([text, once, detail], "; "), {
    who: listText(workspaces, 3),
    gates,
    seen,
    ...(detail === NEW_PATH ? { alwaysShown: true } : {}),
    rank: rankOf(tag, effect),
    calls:
      seen === null
        ? ""
        : [`${amountText(seen.calls, "call")}${share}`, ...usageTexts(seen.usage, seen.calls)].join(
            ", ",
          ),
  });
}

function moreText(report: ReportModel, variants: number): string {
  const countedGroups = report.causes.flatMap((cause) =>
    groupsOfCause(cause, report).filter(({ group }) => isOnlyCounted(group, cause)),
  ).length;
  const findings = report.complete ? report.newFindings.length : 0;
  return joinTexts([
    countText(
      variants,
      "variant of requests with conditions",
      "variants of requests with conditions",
    ),
    countText(countedGroups, "other reason or name", "other reasons or names"),
    countText(findings, "rule that no request uses", "rules that no request uses"),
    report.assertions === null || report.assertions.coverage.length === 0 ? "" : "coverage",
  ]);
}
