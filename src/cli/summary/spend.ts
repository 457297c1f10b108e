import {
  MAXIMUM_CSV_GROUPS,
  spendAnswer,
  spendCsv,
  type SpendAnswer,
} from "../../governance/spend-answer.ts";
import type { SpendMeasures } from "../../governance/measures.ts";
import { MAXIMUM_GROUPS } from "../../governance/groups.ts";
import { summarise } from "../../governance/summarise.ts";
import {
  noArguments,
  readValue,
  TABLE_FORMATS,
  DATABASE_HELP,
  textFlags,
} from "../terminal/arguments.ts";
import { windowOf } from "../../governance/window.ts";
import { UsageError, type CommandIo } from "../terminal/command-io.ts";
import { runFlagCommand } from "../terminal/run.ts";
import {
  groupLines,
  printWorkspaces,
  readSelection,
  SELECTION_FLAGS,
  SELECTION_HELP,
  workspaceText,
} from "./selection.ts";

const FORMATS = [...TABLE_FORMATS, "csv"] as const;

const HELP = `Usage: signalbox spend [flags]

Prints what requests cost, in US dollars. It is an estimate from the prices in routes.yaml and not a bill. The budgets are
printed by signalbox limits.

Flags
${SELECTION_HELP}
  --group-by A,B    key, route, model; operation, route; provider, region, model. Each also with workspace, and with day
                    or hour; hour for at most 31 days.
  --format FORMAT   ${FORMATS.join(", ")} (default: terminal)
                    json: one object a line, the answer of GET /v1/spend without budgets
                    csv: of one workspace, which --workspace names
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const FLAGS = { ...textFlags("format", "database", "workspace"), ...SELECTION_FLAGS } as const;

export function spend(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand(
    { name: "spend", help: HELP, flags: FLAGS },
    argv,
    io,
    async ({ values, positionals }) => {
      noArguments(positionals);
      const format = readValue("--format", values.format ?? "terminal", FORMATS);
      if (format === "csv" && values.workspace === undefined)
        throw new UsageError("--workspace: is missing; CSV is of one workspace");
      const { window, grouping } = readSelection(values, "spend", Date.now());
      return await printWorkspaces(values, io, async (store, workspace) => {
        const found = await summarise(
          (facet) => store.summary.read({ workspace, ...windowOf(facet, window) }),
          grouping,
          format === "csv" ? MAXIMUM_CSV_GROUPS : MAXIMUM_GROUPS,
        );
        const answer = spendAnswer(
          workspace === null ? [] : [workspace],
          window,
          grouping,
          found,
          [],
        );
        if (format === "csv") return spendCsv(answer);
        return format === "json" ? `${JSON.stringify(answer)}\n` : spendTable(answer);
      });
    },
  );
}

const HEAD = ["requests", "tokens in+out", "cached", "usd", "unknown cost"];

function spendTable({
  workspace,
  window,
  group_by: names,
  groups,
  total,
  truncated,
}: SpendAnswer): string {
  const rows = groups.map((group) => [
    ...names.map((name) => textOf(group.group[name])),
    ...cellsOf(group),
  ]);
  const counted = {
    workspace,
    window,
    names,
    head: HEAD,
    total: cellsOf(total),
    groups: rows,
    truncated,
  };
  return workspaceText(groupLines(counted, "estimated from list prices"));
}

function textOf(label: unknown): string {
  return typeof label === "string" ? label : "-";
}

function cellsOf(measures: SpendMeasures): readonly string[] {
  const {
    requests,
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cost_usd: cost,
  } = measures;
  const dollars = cost === null ? "unknown" : cost.toFixed(6);
  return [
    `${requests}`,
    `${input}+${output}`,
    `${cached}`,
    dollars,
    `${measures.unpriced_requests}`,
  ];
}
