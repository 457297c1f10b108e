import type { JsonObject } from "../../../canon/json.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { numberOf, objectOf, objectsOf, textOf, timeOf, stringsOf } from "../../terminal/read-answer.ts";
import { amountText, numberText, percentageText } from "../../terminal/amounts.ts";
import { line, nameLine, span, type Line, section, tableLines } from "../../terminal/layout.ts";
import { timeText } from "./contents.ts";

/**
 * What the candidate said while it was watched: out of how many requests, by constraint, route and workspace, and requests to try again.
 *
 * @param firstSeen of the candidate, milliseconds since the epoch; one that came back into the slot has its earlier requests counted.
 */
export function shadowLines(report: JsonObject, firstSeen: number | null): readonly Line[] {
  const judged = numberOf(report, "judged") ?? 0;
  const since = timeText(timeOf(report, "since"));
  const title = `In shadow: ${textOf(report, "revision")} since ${since}, evaluated for ${amountText(judged, "request")}`;
  if (judged === 0) return section(title, [line(2, span("no request has been judged yet", "dim"))]);
  const from = timeText(firstSeen);
  const earlier =
    firstSeen === null || from === since ? [] : [line(2, span(`all since it was first seen, ${from}`, "dim"))];
  return [
    ...section(title, [...earlier, ...totalLines(report, judged)]),
    ...table("by constraint", ["constraint", "reason"], report, "by_constraint", false),
    ...table("by route", ["route"], report, "by_route", true),
    ...table("by workspace", ["workspace"], report, "by_workspace", true),
    ...exampleLines(report),
  ];
}

function totalLines(report: JsonObject, judged: number): readonly Line[] {
  const width = "indeterminate".length;
  const part = (name: string): string => {
    const amount = numberOf(report, name) ?? 0;
    return `${numberText(amount)} of ${numberText(judged)} (${percentageText(amount, judged)})`;
  };
  const through = numberText(numberOf(report, "newly_denied") ?? 0);
  return [
    nameLine(2, "would deny", width, span(`${part("would_deny")}, ${through} of them let through now`)),
    nameLine(2, "would narrow", width, span(part("would_narrow"))),
    nameLine(2, "indeterminate", width, span(part("indeterminate"))),
  ];
}

const HEAD = ["would deny", "let through now", "would narrow", "indeterminate"];
const NUMBERS = ["would_deny", "newly_denied", "would_narrow", "indeterminate"];

function table(
  title: string,
  names: readonly string[],
  report: JsonObject,
  member: string,
  judged: boolean,
): readonly Line[] {
  const numbers = judged ? ["judged", ...NUMBERS] : NUMBERS;
  const rows = objectsOf(report, member).map((row) => [
    ...names.map((name) => cellText(row, name)),
    ...numbers.map((name) => numberText(numberOf(row, name) ?? 0)),
  ]);
  const head = [...names, ...(judged ? ["requests"] : []), ...HEAD];
  const lines = tableLines(4, head, rows, names.length);
  return lines.length === 0 ? [] : [line(2, span(title)), ...lines];
}

function cellText(row: JsonObject, name: string): string {
  const value = textOf(row, name);
  if (value !== "") return value;
  // Figures of workspaces that are not the caller's are summed up.
  if (name === "workspace") return "(all others)";
  return name === "route" ? "(none, or others')" : "-";
}

function exampleLines(report: JsonObject): readonly Line[] {
  const examples = objectsOf(report, "witnesses");
  const looked = objectOf(report, "looked_at");
  const decisions = numberOf(looked, "decisions");
  const note =
    decisions === null
      ? ""
      : ` (from ${looked?.["complete"] === true ? "all" : "the newest"} ${amountText(decisions, "decision")} since ${timeText(timeOf(looked, "since"))})`;
  return section(
    `Requests that it concerns${note}`,
    examples.flatMap((example) => {
      const effect = textOf(example, "effect").replaceAll("_", " ");
      const said = [effect, textOf(example, "constraint"), textOf(example, "reason")].filter((part) => part !== "");
      const period = [...new Set(["first", "last"].map((name) => timeText(timeOf(example, name))))].join(" to ");
      const through = numberOf(example, "newly_denied") ?? 0;
      const requests = amountText(numberOf(example, "requests") ?? 0, "request");
      const times = through === 0 ? requests : `${requests}, ${numberText(through)} of them let through now`;
      const command = pastedCommand(example["explain"]);
      const unsayable = textOf(example, "not_explained");
      return [
        line(2, span(said.join(" "), "yellow"), span(`, ${times}, ${period}`)),
        line(4, span(classText(objectOf(example, "class")))),
        line(4, span("request ", "dim"), span(textOf(example, "request_id"))),
        ...(command === null ? [] : [{ ...line(4, span("try     ", "dim"), span(command)), whole: true }]),
        ...(unsayable === "" ? [] : [line(4, span(`no command: the files no longer have its ${unsayable}`, "dim"))]),
      ];
    }),
  );
}

/** `shop requests chat.completions of chat-eu in production` */
function classText(of: JsonObject | null): string {
  const [workspace, route, operation, environment] = [
    textOf(of, "workspace"),
    textOf(of, "route"),
    textOf(of, "operation"),
    textOf(of, "environment"),
  ];
  const needs = stringsOf(of, "needs");
  return [
    `${workspace} requests ${operation} ${route === "" ? "without a route" : `of ${route}`}`,
    ...(environment === "" ? [] : [`in ${environment}`]),
    ...(needs.length === 0 ? [] : [`with ${needs.join(", ")}`]),
  ].join(" ");
}

/** The longest command that is shown, characters. */
const LONGEST = 4_000;

/** A word as `shellWord` writes it: plain, or in single quotes, where no shell reads anything into it. */
const WORD = /(?:([\w@%+:,./=-]+)|'([^']*)')(?: |$)/y;

/**
 * A command of a server's answer, to be pasted into a shell; `null` for anything that is not plainly `explain` with words. It is written anew from its words, so that
 * a server cannot make a user paste more than an explanation.
 */
export function pastedCommand(text: unknown): string | null {
  if (typeof text !== "string" || text.length > LONGEST) return null;
  const words: string[] = [];
  WORD.lastIndex = 0;
  for (let at = 0; at < text.length; at = WORD.lastIndex) {
    WORD.lastIndex = at;
    const [, plain, quoted] = WORD.exec(text) ?? [];
    const word = plain ?? quoted;
    if (word === undefined) return null;
    words.push(word);
  }
  return words[0] === "explain" ? explainCommand(words) : null;
}
