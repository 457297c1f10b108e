import type { Measures } from "../../governance/measures.ts";
import type { ShadowPolicy } from "../../governance/shadow-counts.ts";
import type { SummaryAnswer } from "../../governance/summary-answer.ts";
import { printable } from "../terminal/printing.ts";

const HEAD = [
  "requests",
  "running",
  "allowed",
  "denied",
  "refused",
  "would deny",
  "failed",
  "p50 ms",
  "p95 ms",
  "tokens in+out",
];

/** A workspace's summary for a terminal: a line of totals, one for each group, then why requests were denied and what is in shadow. */
export function summaryTable(answer: SummaryAnswer): string {
  const { window, group_by, groups, totals, verdicts, shadows } = answer;
  const named = groups.map((group) => [...group_by.map((name) => group.group[name] ?? "-"), ...measureCells(group)]);
  const lines = [
    `${answer.workspace ?? "(no workspace)"}  ${window.start} to ${window.end}, complete until ${window.complete_until}`,
    ...aligned(
      [
        [...(group_by.length === 0 ? [""] : group_by), ...HEAD],
        ["total", ...group_by.slice(1).map(() => ""), ...measureCells(totals)],
        ...named,
      ],
      Math.max(1, group_by.length),
    ),
    ...(answer.truncated ? [`(the ${groups.length} groups with the most requests; there are more)`] : []),
    ...section(
      ["denied or refused", "policy", "constraint", "reason"],
      verdicts.map((line) => [`${line.denied + line.refused}`, line.policy, line.constraint, line.reason_code]),
    ),
    ...section(
      [
        "in shadow",
        "revision",
        "since",
        "judged",
        "would deny",
        "of them let through",
        "would narrow",
        "indeterminate",
      ],
      shadows.map((line) => [
        line.policy,
        line.revision,
        candidateSince(answer, line),
        ...[line.judged, line.would_deny, line.newly_denied, line.would_narrow, line.indeterminate].map(String),
      ]),
    ),
    ...(shadows.length === 0 ? [] : ["(by route, with requests to try: signalbox policy show ID)"]),
  ];
  return `${lines.map((line) => printable(line).trimEnd()).join("\n")}\n\n`;
}

/** When a revision in shadow entered it, to the minute; `null` for one that has left it. */
function candidateSince({ policies }: SummaryAnswer, { policy, revision }: ShadowPolicy): string | null {
  const candidate = policies.find(({ id }) => id === policy)?.stored?.candidate ?? null;
  if (candidate === null || candidate.since === null || candidate.revision !== revision) return null;
  return `${candidate.since.slice(0, 16)}Z`;
}

function measureCells(measures: Measures): readonly string[] {
  const { ended, shadow } = measures;
  const { p50 = null, p95 = null } = ended?.latency_ms.total ?? {};
  return [
    `${measures.requests}`,
    shown(measures.running),
    `${measures.allowed}`,
    `${measures.denied}`,
    `${measures.refused}`,
    shadow === null || shadow.judged === 0 ? "-" : `${shadow.would_deny} of ${shadow.judged}`,
    shown(ended?.terminals.failed ?? null),
    shown(p50 === null ? null : Math.round(p50)),
    shown(p95 === null ? null : Math.round(p95)),
    ended === null ? "-" : `${ended.tokens.input}+${ended.tokens.output}`,
  ];
}

function shown(value: number | null): string {
  return value === null ? "-" : `${value}`;
}

function section(head: readonly string[], rows: readonly (readonly (string | null)[])[]): readonly string[] {
  if (rows.length === 0) return [];
  return ["", ...aligned([head, ...rows.map((row) => row.map((cell) => cell ?? "-"))], head.length)];
}

/** Lines of a table. @param left how many columns are text; the others are numbers, aligned right. */
export function aligned(rows: readonly (readonly string[])[], left: number): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  "),
  );
}
