import type { JsonObject } from "../../../canon/json.ts";
import { objectOf } from "../../explain/members.ts";
import { readArguments } from "../../terminal/arguments.ts";
import type { CommandIo } from "../../terminal/command-io.ts";
import { formatTable } from "../../terminal/table.ts";
import { COMMON_FLAGS, COMMON_HELP, policyId, printJson, READING_CODES, READING_KEY, runLifecycle } from "./command.ts";
import { readTransitions } from "./server/transitions.ts";
import { historyCells } from "./words/history-cells.ts";

const HELP = `Usage: signalbox policy history ID [options]

Lists what happened to a policy, oldest first: what files brought, who approved, promoted, rolled back, withdrew and released, and
what had been seen by then.

${COMMON_HELP}
${READING_KEY}
With --json: the rows of the log as they are, each with its position and hash; signalbox evidence verify checks the whole chain.
${READING_CODES}`;

/** `signalbox policy history`; gives the exit code. */
export function policyHistory(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = () => readArguments(argv, COMMON_FLAGS);
  return runLifecycle("history", HELP, read, io, async ({ values, positionals, server }) => {
    const id = policyId(positionals);
    const rows: JsonObject[] = [];
    for await (const row of readTransitions(server, id)) rows.push(row);
    if (values.json === true) return printJson(rows, io);
    const head = ["POSITION", "WHEN", "WHAT", "FROM → TO", "BY", "WITH"];
    io.stdout(rows.length === 0 ? "Nothing happened.\n" : formatTable([head, ...rows.map(cellsOf)]));
  });
}

function cellsOf(row: JsonObject): readonly string[] {
  const position = row["position"];
  return [typeof position === "number" ? String(position) : "?", ...historyCells(objectOf(row, "record") ?? {})];
}
