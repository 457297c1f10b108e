import { GROUPED, readGrouping } from "../governance/increments.ts";
import type { Measures, ShadowPolicy, SpendMeasures } from "../governance/measures.ts";
import { readWindow, windowOf } from "../governance/roll-up.ts";
import { MAXIMUM_GROUPS, summarise } from "../governance/summarise.ts";
import {
  MAXIMUM_CSV_GROUPS,
  spendAnswer,
  spendCsv,
  storedPolicies,
  summaryAnswer,
  type SpendAnswer,
  type SummaryAnswer,
} from "../governance/summary-answer.ts";
import { PolicyLogError } from "../lifecycle/fold.ts";
import { openLifecycle } from "../lifecycle/open-lifecycle.ts";
import type { Store } from "../store/port.ts";
import { CommandError, UsageError, type CommandIo } from "./terminal/command-io.ts";
import {
  DATABASE_HELP,
  flagCommand,
  listFlags,
  listItems,
  readValue,
  TABLE_FORMAT_HELP,
  TABLE_FORMATS,
  textFlags,
  wantsJson,
  type FlagValues,
} from "./terminal/command-line.ts";
import { withStore } from "./terminal/open-store.ts";
import { textOf } from "./terminal/call-server.ts";
import { printable, tableRows } from "./terminal/printing.ts";

const SELECTION_HELP = `  --workspace W     Only this workspace. Default: every workspace, one after the other.
  --start TIME      RFC 3339, such as 2026-11-21T00:00:00Z. Default: a day before the end.
  --end TIME        Default: now. Whole hours are counted.`;

const FLAGS = {
  ...textFlags("format", "database", "workspace", "start", "end"),
  ...listFlags("group-by"),
} as const;

type Values = FlagValues<typeof FLAGS>;

/** Time window and grouping of both commands. @throws {UsageError} */
function readSelection(values: Values, of: keyof typeof GROUPED, now: number) {
  const names = (values["group-by"] ?? []).flatMap(listItems);
  const grouping = readGrouping(
    names.map((name) => readValue("--group-by", name, GROUPED[of].dimensions)),
    of,
  );
  if ("problem" in grouping) throw usage(grouping.problem);
  const window = readWindow(values.start ?? null, values.end ?? null, now, grouping.time);
  if ("problem" in window) throw usage(window.problem);
  return { window, grouping };
}

/** An error about a member of a query, by the name of its flag. */
function usage(problem: string) {
  return new UsageError(
    problem.replace(/^(\w+) /, (_, member: string) => `--${member.replaceAll("_", "-")}: `),
  );
}

/** Prints the counts of the named workspace, or of each workspace that has some. */
async function printWorkspaces(
  values: Values,
  io: CommandIo,
  { window, grouping }: ReturnType<typeof readSelection>,
  format: (
    found: Awaited<ReturnType<typeof summarise>>,
    workspace: string | null,
    store: Store,
  ) => Promise<string> | string,
  maximum?: number,
) {
  return await withStore(values.database, io, false, async (store) => {
    const workspaces =
      values.workspace === undefined ? await store.summary.workspaces() : [values.workspace];
    for (const workspace of workspaces) {
      const found = await summarise(
        (facet) => store.summary.read({ workspace, ...windowOf(facet, window) }),
        grouping,
        maximum,
      );
      io.stdout(await format(found, workspace, store));
    }
    if (workspaces.length === 0) io.stderr("signalbox: nothing has been counted yet\n");
  });
}

/** A heading, totals and groups. @param remark follows the window. */
function groupLines(
  { workspace, window, group_by: names, groups, truncated }: SummaryAnswer | SpendAnswer,
  head: readonly string[],
  total: readonly string[],
  cells: readonly (readonly string[])[],
  remark: string,
): readonly string[] {
  const labels = names.length === 0 ? [""] : names;
  const rows = groups.map(({ group }, index) => [
    ...names.map((name) => textOf(group, name) || "-"),
    ...(cells[index] ?? []),
  ]);
  const first = ["total", ...labels.slice(1).map(() => ""), ...total];
  return [
    `${workspace ?? "(no workspace)"}  ${window.start} to ${window.end}, ${remark}`,
    ...tableRows([[...labels, ...head], first, ...rows], labels.length),
    ...(truncated ? [`(the ${groups.length} groups with the most requests; there are more)`] : []),
  ];
}

function workspaceText(lines: readonly string[]) {
  return `${lines.map((line) => printable(line).trimEnd()).join("\n")}\n\n`;
}

const SUMMARY_HELP = `Usage: signalbox summary [flags]

Prints a summary of requests: counts, denials and refusals, what shadow policies would have done, latencies. It has no text
of requests or answers, and no prices.

Flags
${SELECTION_HELP}
  --group-by A,B    operation, route; provider, region, model; policy, constraint, reason_code; key. Each also with day
                    or hour; hour for at most 31 days.
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object a line, the answer of GET /v1/governance/summary, without the server's part.
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

export const summary = flagCommand(
  { name: "summary", help: SUMMARY_HELP, flags: FLAGS, flagsOnly: "" },
  async (values, io) => {
    const json = wantsJson(values.format);
    const now = Date.now();
    const selection = readSelection(values, "summary", now);
    return await printWorkspaces(values, io, selection, async (found, workspace, store) => {
      const context = {
        workspaces: workspace === null ? [] : [workspace],
        ...selection,
        now,
        loaded: null,
        stored: await readStoredPolicies(store),
        tableRevision: null,
        head: await store.evidence.head(),
      };
      const answer = summaryAnswer(context, found);
      return json ? `${JSON.stringify(answer)}\n` : summaryTable(answer);
    });
  },
);

/** Policy states from the log, read only. @throws {CommandError} where the log is not valid. */
async function readStoredPolicies({ policyLog }: Store) {
  try {
    return storedPolicies((await openLifecycle(policyLog, Date.now)).states);
  } catch (error) {
    throw error instanceof PolicyLogError ? new CommandError(error.message) : error;
  }
}

const SUMMARY_HEAD = [
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

/** Counts by group, the reasons of denials, and the policies in shadow. */
function summaryTable(answer: SummaryAnswer): string {
  const { window, totals, verdicts, shadows } = answer;
  return workspaceText([
    ...groupLines(
      answer,
      SUMMARY_HEAD,
      summaryCells(totals),
      answer.groups.map(summaryCells),
      `complete until ${window.complete_until}`,
    ),
    ...section(
      ["denied or refused", "policy", "constraint", "reason"],
      verdicts.map((line) => [
        line.denied + line.refused,
        line.policy,
        line.constraint,
        line.reason_code,
      ]),
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
        line.judged,
        line.would_deny,
        line.newly_denied,
        line.would_narrow,
        line.indeterminate,
      ]),
    ),
    ...(shadows.length === 0 ? [] : ["(by route, with requests to try: signalbox policy show ID)"]),
  ]);
}

/** When a revision became the candidate, to the minute; `null` if it is no longer the candidate. */
function candidateSince(
  { policies }: SummaryAnswer,
  { policy, revision }: ShadowPolicy,
): string | null {
  const candidate = policies.find(({ id }) => id === policy)?.stored?.candidate ?? null;
  if (candidate === null || candidate.since === null || candidate.revision !== revision)
    return null;
  return `${candidate.since.slice(0, 16)}Z`;
}

function summaryCells(measures: Measures): readonly string[] {
  const { ended, shadow } = measures;
  const { p50 = null, p95 = null } = ended?.latency_ms.total ?? {};
  return [
    measures.requests,
    measures.running,
    measures.allowed,
    measures.denied,
    measures.refused,
    shadow === null || shadow.judged === 0 ? null : `${shadow.would_deny} of ${shadow.judged}`,
    ended?.terminals.failed,
    p50 === null ? null : Math.round(p50),
    p95 === null ? null : Math.round(p95),
    ended === null ? null : `${ended.tokens.input}+${ended.tokens.output}`,
  ].map(cell);
}

function cell(value: string | number | null | undefined) {
  return String(value ?? "-");
}

function section(
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): readonly string[] {
  return rows.length === 0 ? [] : ["", ...tableRows([head, ...rows.map((row) => row.map(cell))])];
}

const SPEND_FORMATS = [...TABLE_FORMATS, "csv"] as const;

const SPEND_HELP = `Usage: signalbox spend [flags]

Prints what requests cost, in US dollars. It is an estimate from the prices in routes.yaml and not a bill. The budgets are
printed by signalbox limits.

Flags
${SELECTION_HELP}
  --group-by A,B    key, route, model; operation, route; provider, region, model. Each also with workspace, and with day
                    or hour; hour for at most 31 days.
  --format FORMAT   ${SPEND_FORMATS.join(", ")} (default: terminal)
                    json: one object a line, the answer of GET /v1/spend without budgets
                    csv: of one workspace, which --workspace names
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

export const spend = flagCommand(
  { name: "spend", help: SPEND_HELP, flags: FLAGS, flagsOnly: "" },
  async (values, io) => {
    const format = readValue("--format", values.format ?? "terminal", SPEND_FORMATS);
    if (format === "csv" && values.workspace === undefined)
      throw new UsageError("--workspace: is missing; CSV is of one workspace");
    const selection = readSelection(values, "spend", Date.now());
    const answerText: Parameters<typeof printWorkspaces>[3] = (found, workspace) => {
      const workspaces = workspace === null ? [] : [workspace];
      const answer = spendAnswer(workspaces, selection.window, selection.grouping, found, []);
      if (format === "csv") return spendCsv(answer);
      return format === "json" ? `${JSON.stringify(answer)}\n` : spendTable(answer);
    };
    const maximum = format === "csv" ? MAXIMUM_CSV_GROUPS : MAXIMUM_GROUPS;
    return await printWorkspaces(values, io, selection, answerText, maximum);
  },
);

const SPEND_HEAD = ["requests", "tokens in+out", "cached", "usd", "unknown cost"];

function spendTable(answer: SpendAnswer) {
  return workspaceText(
    groupLines(
      answer,
      SPEND_HEAD,
      spendCells(answer.total),
      answer.groups.map(spendCells),
      "estimated from list prices",
    ),
  );
}

function spendCells(measures: SpendMeasures): readonly string[] {
  return [
    measures.requests,
    `${measures.input_tokens}+${measures.output_tokens}`,
    measures.cache_read_tokens,
    measures.cost_usd?.toFixed(6) ?? "unknown",
    measures.unpriced_requests,
  ].map(cell);
}
