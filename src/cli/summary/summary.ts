import {
  storedPolicies,
  type StoredPolicy,
  summaryAnswer,
  type SummaryAnswer,
} from "../../governance/summary-answer.ts";
import type { Grouping } from "../../governance/dimensions.ts";
import { summarise } from "../../governance/summarise.ts";
import { windowOf, type Window } from "../../governance/window.ts";
import { PolicyLogError } from "../../lifecycle/fold.ts";
import { openLifecycle } from "../../lifecycle/open-lifecycle.ts";
import type { PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import type { Store } from "../../store/port.ts";
import {
  noArguments,
  TABLE_FORMAT_HELP,
  wantsJson,
  DATABASE_HELP,
  textFlags,
} from "../terminal/arguments.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { runFlagCommand } from "../terminal/run.ts";
import {
  printWorkspaces,
  readSelection,
  SELECTION_FLAGS,
  SELECTION_HELP,
  groupLines,
  workspaceText,
} from "./selection.ts";
import type { Measures } from "../../governance/measures.ts";
import type { ShadowPolicy } from "../../governance/shadow-counts.ts";
import { tableRows } from "../terminal/printing.ts";

const HELP = `Usage: signalbox summary [flags]

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

const FLAGS = { ...textFlags("format", "database", "workspace"), ...SELECTION_FLAGS } as const;

export function summary(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand(
    { name: "summary", help: HELP, flags: FLAGS },
    argv,
    io,
    async ({ values, positionals }) => {
      noArguments(positionals);
      const json = wantsJson(values.format);
      const now = Date.now();
      const { window, grouping } = readSelection(values, "summary", now);
      return await printWorkspaces(values, io, async (store, workspace) => {
        const answer = await answerOf(store, workspace, window, grouping, now);
        return json ? `${JSON.stringify(answer)}\n` : summaryTable(answer);
      });
    },
  );
}

async function answerOf(
  store: Store,
  workspace: string | null,
  window: Window,
  grouping: Grouping,
  now: number,
): Promise<SummaryAnswer> {
  const found = await summarise(
    (facet) => store.summary.read({ workspace, ...windowOf(facet, window) }),
    grouping,
  );
  const stored = await readStoredPolicies(store.policyLog);
  const context = {
    workspaces: workspace === null ? [] : [workspace],
    window,
    grouping,
    now,
    loaded: null,
    stored,
    tableRevision: null,
    head: await store.evidence.head(),
  };
  return summaryAnswer(context, found);
}

/**
 * The state of policies by their log. Writes nothing. @throws {CommandError} where the log does not
 * hold.
 */
async function readStoredPolicies(log: PolicyLogStore): Promise<readonly StoredPolicy[]> {
  try {
    return storedPolicies((await openLifecycle(log, Date.now)).states);
  } catch (error) {
    if (error instanceof PolicyLogError) throw new CommandError(error.message);
    throw error;
  }
}

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

/**
 * A workspace's summary for a terminal: a line of totals, one for each group, then why requests
 * were denied and what is in shadow.
 */
function summaryTable(answer: SummaryAnswer): string {
  const {
    workspace,
    window,
    group_by: names,
    groups,
    totals,
    truncated,
    verdicts,
    shadows,
  } = answer;
  const rows = groups.map((group) => [
    ...names.map((name) => group.group[name] ?? "-"),
    ...measureCells(group),
  ]);
  const counted = {
    workspace,
    window,
    names,
    head: HEAD,
    total: measureCells(totals),
    groups: rows,
    truncated,
  };
  return workspaceText([
    ...groupLines(counted, `complete until ${window.complete_until}`),
    ...section(
      ["denied or refused", "policy", "constraint", "reason"],
      verdicts.map((line) => [
        `${line.denied + line.refused}`,
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
        ...[
          line.judged,
          line.would_deny,
          line.newly_denied,
          line.would_narrow,
          line.indeterminate,
        ].map(String),
      ]),
    ),
    ...(shadows.length === 0 ? [] : ["(by route, with requests to try: signalbox policy show ID)"]),
  ]);
}

/** When a revision in shadow entered it, to the minute; `null` for one that has left it. */
function candidateSince(
  { policies }: SummaryAnswer,
  { policy, revision }: ShadowPolicy,
): string | null {
  const candidate = policies.find(({ id }) => id === policy)?.stored?.candidate ?? null;
  if (candidate === null || candidate.since === null || candidate.revision !== revision)
    return null;
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

function section(
  head: readonly string[],
  rows: readonly (readonly (string | null)[])[],
): readonly string[] {
  if (rows.length === 0) return [];
  return ["", ...tableRows([head, ...rows.map((row) => row.map((cell) => cell ?? "-"))])];
}
