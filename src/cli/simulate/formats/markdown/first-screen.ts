import type { FormatContext, ReportModel } from "../model.ts";
import { screenOf, type ScreenRow } from "../screen/screen.ts";
import { code, codeBlock } from "./escape.ts";

/** As many rows as are read at once; the details have the others. */
const MOST_ROWS = 10;
const LONGEST_COMMAND = 2_000;

/** The first screen as a table; every text from files is code, in which nothing is markup. */
export function firstScreenBlock(report: ReportModel, context: FormatContext): readonly string[] {
  const { headline, location: where, facts, rows, decide, explain, more } = screenOf(report, context);
  const shown = rows.slice(0, MOST_ROWS);
  const left = rows.length - shown.length;
  return [
    `**${code(headline)}**${where === "" ? "" : ` at ${code(where)}`}`,
    "",
    facts.map(code).join(" · "),
    ...(shown.length === 0 ? [] : ["", "| | Who | What |", "|---|---|---|", ...shown.map(rowLine)]),
    ...(left === 0 ? [] : ["", `… ${left} more in the details`]),
    ...(decide === "" ? [] : ["", `**Decide:** ${code(decide)}`]),
    ...(explain === null || explain.length > LONGEST_COMMAND
      ? []
      : ["", ...codeBlock("sh", [explain], LONGEST_COMMAND)]),
    ...(more === "" ? [] : ["", `Below: ${more}.`]),
  ];
}

function rowLine({ tag, who, text, calls, location: where }: ScreenRow): string {
  const right = [calls, where].filter((part) => part !== "").map((part) => ` ${code(part)}`);
  return `| **${tag}** | ${who === "" ? "" : code(who)} | ${code(text)}${right.join("")} |`;
}
