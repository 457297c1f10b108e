import {
  storedPolicies,
  type StoredPolicy,
  summaryAnswer,
  type SummaryAnswer,
} from "../../governance/summary-answer.ts";
import type { Grouping } from "../../governance/dimensions.ts";
import { summarise } from "../../governance/summarise.ts";
import type { Window } from "../../governance/window.ts";
import { PolicyLogError } from "../../lifecycle/fold.ts";
import { openLifecycle } from "../../lifecycle/open-lifecycle.ts";
import type { PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import type { Store } from "../../store/port.ts";
import { noArguments, TABLE_FORMAT_HELP, wantsJson, DATABASE_HELP, textFlags } from "../terminal/arguments.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { printWorkspaces, readSelection, SELECTION_FLAGS } from "./selection.ts";
import { summaryTable } from "./summary-table.ts";

const HELP = `Usage: signalbox summary [flags]

Prints a summary of requests: counts, denials and refusals, what shadow policies would have done, latencies. It has no text
of requests or answers, and no prices.

Flags
  --workspace W     Only this workspace. Default: every workspace, one after the other.
  --start TIME      RFC 3339, such as 2026-11-21T00:00:00Z. Default: a day before the end.
  --end TIME        Default: now. Whole hours are counted.
  --group-by A,B    operation, route; provider, region, model; policy, constraint, reason_code; key. Each also with day
                    or hour; hour for at most 31 days.
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object a line, the answer of GET /v1/governance/summary, without the server's part.
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const FLAGS = { ...textFlags("format", "database", "workspace"), ...SELECTION_FLAGS } as const;

/** `signalbox summary`; gives the exit code. */
export function summary(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand({ name: "summary", help: HELP, flags: FLAGS }, argv, io, async ({ values, positionals }) => {
    noArguments(positionals);
    const json = wantsJson(values.format);
    const now = Date.now();
    const { window, grouping } = readSelection(values, "summary", now);
    return await printWorkspaces(values, io, async (store, workspace) => {
      const answer = await answerOf(store, workspace, window, grouping, now);
      return json ? `${JSON.stringify(answer)}\n` : summaryTable(answer);
    });
  });
}

async function answerOf(
  store: Store,
  workspace: string | null,
  window: Window,
  grouping: Grouping,
  now: number,
): Promise<SummaryAnswer> {
  const found = await summarise((facet) => store.summary.read({ workspace, facet, ...window }), grouping);
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

/** The state of policies by their log. Writes nothing. @throws {CommandError} where the log does not hold. */
async function readStoredPolicies(log: PolicyLogStore): Promise<readonly StoredPolicy[]> {
  try {
    return storedPolicies((await openLifecycle(log, Date.now)).states);
  } catch (error) {
    if (error instanceof PolicyLogError) throw new CommandError(error.message);
    throw error;
  }
}
