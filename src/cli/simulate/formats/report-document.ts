import {
  type Block,
  type Section,
  type Text,
  name,
  names,
  quoted,
  strong,
} from "../../document/document.ts";
import type { View } from "../../../simulate/sample-request.ts";
import type { SideReport } from "../../../simulate/report/report.ts";
import {
  amountText,
  capitalised,
  classesText,
  countText,
  joinTexts,
  numberText,
} from "../../terminal/printing.ts";
import { type FormatContext, type ReportModel, keptText } from "./model.ts";
import { figuresOf } from "./html/figure-markup.ts";
import { screenOf, type Screen } from "./screen/screen.ts";
import { comparisonSections, VIEW_LABELS } from "./sections/comparison.ts";
import {
  assertionsSection,
  coverageSection,
  evidenceSection,
  findingsSection,
  latentSection,
  settingsSection,
  warningsSection,
} from "./sections/checks.ts";
import {
  ACCESS_WORDING,
  accessSentence,
  changeCounts,
  changesText,
  FRESH,
  promotionText,
  sideText,
} from "./wording/comparison.ts";

export type ReportDocument = ReturnType<typeof documentOf>;

/** A simulation's report as every format for people prints it. */
export function documentOf(report: ReportModel, context: FormatContext) {
  const { base, head, declared, difference, complete, unchanged, assertions } = report;
  const screen = screenOf(report, context);
  const effects = screen.counts
    .split(", ")
    .filter((count) => / (?!same|note|spend|cost)/.test(count));
  const folded = joinTexts([
    countText(declared.new_data_paths.length, "new data path"),
    amountText(
      declared.groups.length + difference.groups.length,
      "group of changes",
      "groups of changes",
    ),
    assertions === null ? "" : `assertions ${assertions.counts}`,
  ]);
  return {
    base: sideText(base),
    head: sideText(head),
    /** "SAME, no changes", "REVIEW, 1 breaks, 2 widen" */
    heading: [screen.verdict, ...(unchanged === null ? effects : [unchanged.title])].join(", "),
    /** For a terminal, which omits rows that do not fit. */
    screen,
    /** The same for the other formats. */
    opening: openingOf(screen),
    /** Of the page. */
    figures: figuresOf(report),
    /** Limits of the report, such as an incomplete run; printed right after the first screen. */
    notices: noticesOf(report),
    /** The verdict of each view; the page shows the sections of one of them. */
    views: (["declared", "promoted"] as const).map((view) => ({
      view,
      title: VIEW_LABELS[view],
      verdict: capitalised(report.verdicts[view]),
      sentence: complete ? accessSentence(report, view) : "The others may change more.",
      tone: ACCESS_WORDING[report[view].access].tone,
    })),
    /** Whether both views have the same sections, which are those of the first then. */
    isSameView: !difference.any,
    summary: summaryOf(report),
    /** A summary of what a comment folds; `null` where it folds nothing. */
    folded: unchanged === null || assertions !== null ? folded : null,
    sections: [
      ...comparisonSections(report),
      assertionsSection(report),
      coverageSection(report),
      latentSection(report),
      findingsSection(report),
      settingsSection(report),
      warningsSection(report),
      evidenceSection(report),
      dimensionsSection(report),
      sidesSection(report),
    ].flatMap((section) => section ?? []),
    footer: footerOf(report, context),
  };
}

function openingOf({
  headline,
  location,
  facts,
  rows,
  decide,
  explain,
  more,
  counts,
}: Screen): readonly Block[] {
  return [
    { text: [quoted(headline), ...(location === "" ? [] : [" (", quoted(location), ")"])] },
    { text: quoted(facts.join(" · ")) },
    {
      noun: "row",
      most: 10,
      headings: ["Effect", "Who", "What"],
      items: rows.map(({ tag, tone, who, text, calls, location: where, gates, alwaysShown }) => ({
        cells: [
          strong(tag, tone),
          quoted(who),
          [
            quoted(text),
            ...[calls, where].flatMap((part) => (part === "" ? [] : [" ", quoted(part)])),
            gates.length === 0 || tag === "FAILS" ? null : `; fails ${gates.join(", ")}`,
          ],
        ],
        alwaysShown,
      })),
    },
    ...decide.map((question) => ({ text: [strong("Decide:"), " ", quoted(question)] })),
    ...(explain === null ? [] : [{ command: explain }]),
    { text: more && `Below: ${more}.` },
    { text: counts && `Facts: ${counts}.` },
  ];
}

function noticesOf({ complete, cut, declared, promoted }: ReportModel): readonly Block[] {
  const most = Math.max(
    0,
    ...[declared, promoted].flatMap(({ kinds }) =>
      kinds.flatMap(({ kind, classes }) => (kind === "indeterminate_new" ? [classes] : [])),
    ),
  );
  return [
    ...(complete
      ? []
      : [
          {
            text: [
              strong("INCOMPLETE: not every class of requests was decided.", "stop"),
              " The results below cover only those that were; others may change too.",
            ],
          },
          {
            noun: "dimension",
            items: cut.map((one) => ({
              mark: "!" as const,
              cells: [name(one.dimension), quoted(keptText(one))],
            })),
          },
        ]),
    ...(most === 0
      ? []
      : [
          {
            text: strong(
              `INDETERMINATE: in ${classesText(most)} a policy cannot be evaluated any more.`,
              "stop",
            ),
          },
        ]),
  ];
}

/** The differences in a few lines. */
function summaryOf(report: ReportModel): readonly Block[] {
  const { base, head, complete, unchanged, assertions, verdicts, difference } = report;
  const { promoted_policies: candidates } = report;
  const verdictOf = (view: View): Text => {
    const counts = changeCounts(report[view]);
    return [
      strong(verdicts[view], ACCESS_WORDING[report[view].access].tone),
      counts === "" ? null : `: ${counts}`,
    ];
  };
  const gates = assertions?.failedGates.length ?? 0;
  const hasPromotion = candidates.length > 0 || difference.any;
  const sentence = complete ? accessSentence(report, "declared") : null;
  return [
    { text: ["Simulation of ", quoted(`${sideText(base)} → ${sideText(head)}`)] },
    {
      text:
        unchanged === null ? sentence : strong(unchanged.sentence, complete ? "good" : "narrow"),
    },
    ...(report.fresh ? [{ text: FRESH }] : []),
    {
      noun: "policy difference",
      items: [
        { cells: ["as declared", verdictOf("declared")] },
        ...(hasPromotion ? [{ cells: ["as if promoted", verdictOf("promoted")] }] : []),
        ...(assertions === null
          ? []
          : [
              {
                cells: [
                  "assertions",
                  [
                    strong(assertions.counts, assertions.failed > 0 ? "stop" : "good"),
                    gates === 0
                      ? null
                      : `; ${amountText(gates, "coverage gate fails", "coverage gates fail")}`,
                  ],
                ],
              },
            ]),
        ...report.policyDifferences.map(({ mark, id, what, digests }) => ({
          cells: [
            "policy",
            [`${mark} `, name(id), ` ${what}`, digests === "" ? null : " ", quoted(digests)],
          ],
        })),
      ],
    },
    { text: promotionText(report), ...(hasPromotion ? {} : { only: "page" }) },
  ];
}

function dimensionsSection({ space, spaceText }: ReportModel): Section {
  return {
    id: "dimensions",
    title: "Dimensions",
    blocks: [
      {
        text: `${spaceText}. Values of a dimension that nothing reads are not distinguished.`,
        only: "page",
      },
      {
        noun: "dimension",
        only: "page",
        headings: ["Dimension", "Values#", "Distinguished#", "Read by", "Why"],
        items: space.dimensions.map(
          ({ name: dimension, values, distinguished, read_by: readBy, reason }) => ({
            cells: [
              name(dimension),
              numberText(values),
              numberText(distinguished),
              readBy.length === 0 ? "nothing" : names(readBy),
              quoted(reason ?? ""),
            ],
          }),
        ),
      },
    ],
  };
}

function sidesSection({ base, head }: ReportModel): Section {
  const rowsOf = (
    title: string,
    { name: ref, commit, table_revision: revision, policies }: SideReport,
  ) => [
    { cells: [title, name(ref), commit === null ? "a folder" : name(commit), name(revision)] },
    ...policies.map(({ id, digest, slot, content, from }) => ({
      cells: [
        `Policy of ${title.toLowerCase()}`,
        name(id),
        `${slot}${content === "removal" ? ", its removal" : ""}${from === "base" && title === "Head" ? ", kept from base" : ""}`,
        name(digest),
      ],
    })),
  ];
  return {
    id: "sides",
    title: "Both sides",
    note: "",
    blocks: [
      {
        noun: "policy",
        only: "page",
        headings: ["", "Name", "Commit or slot", "Table revision or digest"],
        items: [...rowsOf("Base", base), ...rowsOf("Head", head)],
      },
    ],
  };
}

function footerOf(report: ReportModel, { reportDigest }: FormatContext): readonly Text[] {
  const { base, head, declared, assertions, complete, difference, unchanged } = report;
  const parts = [
    unchanged === null ? changesText(declared) : unchanged.title,
    countText(declared.new_data_paths.length, "new data path"),
    countText(difference.groups.length, "group only as if promoted", "groups only as if promoted"),
    complete ? countText(report.newFindings.length, "new finding") : "",
    countText(assertions?.failed ?? 0, "assertion failed", "assertions failed"),
    complete ? "" : "incomplete",
  ];
  return [
    strong(
      `Simulation: ${joinTexts(parts, "; ") || "as declared, no request is treated differently"}.`,
    ),
    [
      `${report.spaceText}. Table `,
      name(base.table_revision),
      base.table_revision === head.table_revision ? " on both sides" : " → ",
      base.table_revision === head.table_revision ? null : name(head.table_revision),
      ".",
      ...(reportDigest === null
        ? []
        : [" Report, which an approver signs: ", name(`sha256:${reportDigest}`), "."]),
    ],
  ];
}
