import type { FormatContext, ReportModel } from "../model.ts";
import { screenOf, type ScreenRow } from "../screen/screen.ts";
import { code, codeBlock, type Comment } from "./comment.ts";
import { capitalised, numberText } from "../../../terminal/amounts.ts";
import { LATENT_SENTENCE, LATENT_TITLE, latentCut, latentText } from "../wording/latent.ts";

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

/** @param free characters for what follows. */
export function writeLatent(comment: Comment, { latent }: ReportModel, free: number): void {
  const changes = latent?.changes ?? [];
  const cut = latentCut(latent);
  if (changes.length === 0 && cut === null) return;
  comment.write("", `### ${LATENT_TITLE} (${numberText(changes.length)})`, "", LATENT_SENTENCE, "");
  comment.list(
    changes.map((change) => () => [
      `- policy ${code(change.policy)} ${code(latentText(change))}${change.place === null ? "" : `, ${code(`${change.place.file}:${change.place.line}`)}`}`,
    ]),
    "latent change",
    20,
    free,
  );
  if (cut !== null) comment.write("", `${capitalised(cut)}.`);
}
