import {
  at,
  type Block,
  type Item,
  type List,
  name,
  names,
  quoted,
  type Section,
  strong,
} from "../../../document/document.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import type { EvidenceReport } from "../../../../simulate/report/report.ts";
import {
  amountText,
  capitalised,
  classesText,
  costs,
  joinTexts,
  numberText,
  percentageText,
} from "../../../terminal/printing.ts";
import {
  type AssertionModel,
  evidenceCautions,
  NOT_JUDGED,
  type ReportModel,
  SO_FAR,
  waiverText,
} from "../model.ts";
import { routeText } from "../screen/effect-text.ts";
import { valueText } from "../wording/comparison.ts";
import { LATENT_SENTENCE, LATENT_TITLE, latentLimits, latentText } from "../wording/latent.ts";
import { sampleText } from "../wording/results.ts";
import { SETTING_EFFECTS } from "../../../../simulate/settings/setting-effect.ts";

const STATUS_TONES = { FAIL: "stop", WAIVED: "narrow", PASS: "good" } as const;

export function assertionsSection({ assertions, complete }: ReportModel): Section {
  const title = "Assertions";
  if (assertions === null)
    return { id: "assertions", title, empty: "There is no assertions file.", blocks: [] };
  const { worstFirst, counts, file, passed } = assertions;
  return {
    id: "assertions",
    title,
    note: counts,
    reserve: 9_000,
    blocks: [
      { text: ["From ", name(file), complete || passed === 0 ? "." : `. PASS so far: ${SO_FAR}.`] },
      { noun: "assertion", items: worstFirst.map(assertionItem) },
    ],
  };
}

function assertionItem(result: AssertionModel): Item {
  const {
    id,
    kind,
    status,
    label,
    title,
    classes,
    violations,
    message,
    waiver,
    needless,
    example,
    explain,
  } = result;
  const isPassed = status === "PASS";
  return {
    cells: [
      strong(label, STATUS_TONES[status]),
      name(id),
      quoted(title),
      [quoted(kind), `, ${classesText(classes)}`],
    ],
    alwaysShown: status === "FAIL",
    details: [
      // In an incomplete run other classes may need the waiver.
      ["why", isPassed && waiver !== null ? null : quoted(message ?? "")],
      [
        "violated",
        violations === 0
          ? null
          : `by ${numberText(violations)} of ${classesText(classes)}; looked at ${result.lookedAt}`,
      ],
      ["waiver", quoted(needless ?? "")],
      [
        waiver?.expired === true ? "expired" : "waived",
        isPassed || waiver === null ? null : quoted(waiverText(waiver)),
      ],
      ["example", example === null || isPassed ? null : quoted(sampleText(example))],
      ["look at", isPassed ? null : at(result.location)],
    ],
    ...(explain === null ? {} : { command: explainCommand(explain) }),
  };
}

const JUDGEMENT_TONES = {
  FAIL: "stop",
  PASS: "good",
  "not gated": "quiet",
  "not judged": "narrow",
} as const;

/** Behind `--all` where no gate fails. */
export function coverageSection({ assertions, complete }: ReportModel): Section | null {
  if (assertions === null || assertions.coverage.length === 0) return null;
  return {
    id: "coverage",
    title: "Coverage by all requests of head",
    note: complete ? "" : NOT_JUDGED,
    detail: assertions.failedGates.length === 0,
    blocks: [
      {
        noun: "gate",
        items: assertions.coverage.map(({ title, judgement, text, missing, location }) => ({
          cells: [strong(judgement, JUDGEMENT_TONES[judgement]), title, text, at(location)],
          details: [["missing", missing.length === 0 ? null : names(missing)]],
        })),
      },
    ],
  };
}

/**
 * Effects of changed policies on rows that no file has yet; `null` without any.
 */
export function latentSection({ future_rows: latent }: ReportModel): Section | null {
  const changes = latent?.changes ?? [];
  const limits = latentLimits(latent);
  if (changes.length + limits.length === 0) return null;
  return {
    id: "latent",
    title: LATENT_TITLE,
    note: numberText(changes.length),
    blocks: [
      { text: changes.length === 0 ? null : LATENT_SENTENCE },
      {
        noun: "latent change",
        items: changes.map((change) => ({
          mark: change.direction === "weaker" ? "+" : "-",
          tone: change.direction === "weaker" ? "widen" : "narrow",
          cells: [[name(change.policy), " ", quoted(latentText(change))], at(change.location)],
        })),
      },
      ...limits.map((limit) => ({ text: `${capitalised(limit)}.` })),
    ],
  };
}

/** Rules that no request uses; those of base already are in the page, and counted elsewhere. */
export function findingsSection({ findings, newFindings, complete }: ReportModel): Section {
  const old = findings.filter(({ in_base: inBase }) => inBase);
  const already = old.length === 0 ? "" : `; ${numberText(old.length)} more already in base`;
  return {
    id: "findings",
    title: complete ? "Unused parts of head" : "Parts of head unused by the decided requests",
    note: `${numberText(newFindings.length)} new in head${already}${complete ? "" : `; ${NOT_JUDGED}`}`,
    detail: true,
    ...(findings.length === 0
      ? { empty: "Some request uses every policy, constraint, reason, route and endpoint of head." }
      : {}),
    blocks: [
      {
        noun: "finding",
        items: [...newFindings, ...old].map(({ kind, subject, in_base: inBase, location }) => ({
          mark: "!",
          cells: [
            valueText(kind),
            name(subject),
            inBase ? "in base already" : "new in head",
            at(location),
          ],
          ...(inBase ? { shown: "page" as const } : {}),
        })),
      },
    ],
  };
}

export function settingsSection({ changed_settings: changes }: ReportModel): Section {
  // A setting that meets a gate must always be shown.
  const sorted = changes.toSorted(
    (left, right) => Number(left.gate === null) - Number(right.gate === null),
  );
  return {
    id: "changed-settings",
    title: "Changed settings",
    ...(changes.length === 0 ? { empty: "No setting of the files differs." } : {}),
    blocks: [
      {
        noun: "setting",
        items: sorted.map(({ path, before, after, effect, gate, location }): Item => {
          const values = shortened(before ?? "not set", after ?? "not set").join(" → ");
          const why = effect === "decides" ? "" : SETTING_EFFECTS[effect].sentence;
          const note = joinTexts([why, gate ?? ""], "; ");
          return {
            mark: before === null ? "+" : after === null ? "-" : "~",
            cells: [name(path), [quoted(values), note && `: ${note}`], at(location)],
            alwaysShown: gate !== null,
          };
        }),
      },
    ],
  };
}

/** Warnings of the compiler; those of base too are in the page. */
export function warningsSection({ base, head }: ReportModel): Section {
  const keyOf = ({ code, file, message }: (typeof head.warnings)[number]) =>
    JSON.stringify([code, file, message]);
  const without = (some: typeof head.warnings, others: typeof head.warnings) => {
    const excluded = new Set(others.map(keyOf));
    return some.filter((warning) => !excluded.has(keyOf(warning)));
  };
  const added = without(head.warnings, base.warnings);
  const unchanged = without(head.warnings, added);
  const removed = without(base.warnings, head.warnings);
  const itemOf = (warning: (typeof head.warnings)[number], since: string): Item => ({
    mark: "!",
    cells: [
      name(warning.code),
      quoted(warning.hint === "" ? warning.message : `${warning.message} ${warning.hint}`),
      since,
      at(warning),
    ],
    ...(since === "new in head" ? {} : { shown: "page" }),
  });
  return {
    id: "warnings",
    title: "Warnings of the compiler",
    note: `${numberText(added.length)} new in head`,
    ...(head.warnings.length + removed.length === 0 ? { empty: "None." } : {}),
    blocks: [
      {
        noun: "warning",
        items: [
          ...added.map((warning) => itemOf(warning, "new in head")),
          ...unchanged.map((warning) => itemOf(warning, "on both sides")),
          ...removed.map((warning) => itemOf(warning, "in base only")),
        ],
      },
    ],
  };
}

export function evidenceSection({ evidence, declared, promoted }: ReportModel): Section | null {
  if (evidence === null) return null;
  const { decisions, from, to, unrepresentable } = evidence;
  const viewItem = (
    view: string,
    changed: number,
    { groups, decisions: met }: EvidenceReport["declared"],
  ): Item => ({
    cells: [
      view,
      `${numberText(groups)} of ${amountText(changed, "change")} seen: ${amountText(met, "decision")}, ${percentageText(met, decisions)}`,
    ],
  });
  return {
    id: "evidence",
    title: "Evidence",
    note: amountText(decisions, "decision"),
    blocks: [
      {
        text:
          from === null || to === null ? null : ["From ", quoted(from), " to ", quoted(to), "."],
      },
      {
        noun: "reason",
        items: [
          viewItem("as declared", declared.groups.length, evidence.declared),
          viewItem("as if promoted", promoted.groups.length, evidence.promoted),
          ...evidenceCautions(evidence).map((caution): Item => ({ mark: "!", cells: [caution] })),
          ...unrepresentable.map(({ why, decisions: decisionCount }): Item => ({
            mark: "!",
            cells: [
              [
                `${amountText(decisionCount, "decision")} cannot be expressed by head's files: `,
                quoted(why),
              ],
            ],
          })),
        ],
      },
      ...seenBlocks(evidence.declared, ""),
      ...(JSON.stringify(evidence.declared) === JSON.stringify(evidence.promoted)
        ? []
        : seenBlocks(evidence.promoted, " as if promoted")),
    ],
  };
}

const MOST_REQUESTS = 3;

/** Cost of recorded calls, and the calls that are decided differently. */
function seenBlocks(
  { calls, costs: rows }: EvidenceReport["declared"],
  view: string,
): readonly Block[] {
  const others = "all others";
  const titled = (title: string, list: List): readonly Block[] =>
    list.items.length === 0 ? [] : [{ text: `${title}${view}:` }, list];
  return [
    ...titled("Cost of recorded answers in USD by list price", {
      noun: "row",
      headings: ["Route", "Month", "Answers#", "Before → after#"],
      items: rows.map((cost) => ({
        cells: [
          name(routeText(cost.route ?? others)),
          name(cost.month ?? others),
          amountText(cost.calls, "answer"),
          costs(cost).join(" → "),
        ],
      })),
    }),
    ...titled("Recorded calls that are decided differently", {
      noun: "workspace",
      headings: ["Workspace", "Calls#", "Days", "Such as"],
      items: [...Map.groupBy(calls, ({ workspace }) => workspace)].map(([workspace, days]) => ({
        cells: [
          name(workspace ?? others),
          amountText(
            days.reduce((sum, day) => sum + day.calls, 0),
            "call",
          ),
          names(days.map(({ day, calls: amount }) => `${day ?? others}: ${numberText(amount)}`)),
          names(days.flatMap(({ requests }) => requests).slice(0, MOST_REQUESTS)),
        ],
      })),
    }),
  ];
}

/**
 * Characters of one side of a change; what both sides begin and end with is left out of longer
 * ones.
 */
const LONGEST_VALUE = 90;
const CONTEXT = 24;

/** Without what is the same on both sides, so that the difference of long values is seen. */
function shortened(before: string, after: string): readonly [string, string] {
  if (before.length <= LONGEST_VALUE && after.length <= LONGEST_VALUE) return [before, after];
  // By characters: half of one cannot be printed.
  const [was, is] = [Array.from(before), Array.from(after)];
  const least = Math.min(was.length, is.length);
  let start = 0;
  while (start < least && was[start] === is[start]) start += 1;
  let end = 0;
  while (end < least - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  const part = (all: readonly string[]): string => {
    const [from, to] = [
      Math.max(0, start - CONTEXT),
      Math.min(all.length, all.length - end + CONTEXT),
    ];
    const shown = all.slice(from, Math.min(to, from + 2 * LONGEST_VALUE));
    return `${from > 0 ? "…" : ""}${shown.join("")}${from + shown.length < all.length ? "…" : ""}`;
  };
  return [part(was), part(is)];
}
