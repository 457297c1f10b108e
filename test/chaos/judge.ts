import { FAILURE_KINDS, hasTrait } from "../../src/canon/failure.ts";
import type { Answer } from "./ask.ts";
import type { Cell } from "./routes.ts";

/** The undamaged answers of a column, from its upstream and from its fallback. */
export interface Undamaged {
  readonly own: Answer;
  readonly spare: Answer;
}

/** What became of a cell, as text for people. */
export type Fate = "answered" | "saved" | "error" | "broken stream";

/** Whatever a provider says about an error; none of it may reach a client. */
const UPSTREAM_TEXT = /simulated (answer with status|failure)/i;

/**
 * Names that only the provider gives. A success may carry them; what we say of a failure may not.
 */
const UPSTREAM_NAMES = /mock|simulated/i;

export function fateOf(cell: Cell, { seen, headers }: Answer): Fate {
  if (seen === null) return "error";
  if (seen.end === "failed") return "broken stream";
  return headers["x-signalbox-route"]?.includes(`endpoint=${cell.id};`) === true
    ? "answered"
    : "saved";
}

/**
 * Gemini sends output after a finish reason and has no last mark: a connection that breaks there
 * may have lost some.
 */
function mayHaveLostText({ column, fault }: Cell): boolean {
  return (
    column.dialect === "gemini" &&
    fault.settings.some((one) => /^(?:close|reset|error-frame)=end$/.test(one))
  );
}

/** Everything that is wrong with what a client got; empty where nothing is. */
export function judge(cell: Cell, answer: Answer, undamaged: Undamaged): readonly string[] {
  const { broken, seen } = answer;
  if (broken !== null) return [`the client's connection ${broken}`];
  const expected = cell.hasFallback ? cell.fault.withFallback : cell.fault.alone;
  const fate = fateOf(cell, answer);
  const succeeded = fate === "answered" || fate === "saved";
  return [
    ...(seen?.problems ?? []),
    ...(expected === "whole" && !succeeded && !mayHaveLostText(cell)
      ? [`ends in "${fate}", and could have been whole`]
      : []),
    ...(expected === "failed" && succeeded ? [`ends in "${fate}", and should have failed`] : []),
    ...(isWrongSuccess(cell, answer, undamaged)
      ? ["a success whose answer is not the undamaged one"]
      : []),
    ...(fate === "broken stream" && !isBeginning(cell, answer, undamaged)
      ? ["what came is no part of the answer"]
      : []),
    ...(fate === "error" ? errorProblems(cell, answer) : []),
    ...leaks(answer, fate),
  ];
}

/** Whether a client took for a success what is not the undamaged answer. */
export function isWrongSuccess(cell: Cell, answer: Answer, { own, spare }: Undamaged): boolean {
  if (answer.broken !== null || answer.seen?.end !== "whole") return false;
  return !isWhole(cell, answer, fateOf(cell, answer) === "saved" ? spare : own);
}

function isWhole({ fault }: Cell, { seen }: Answer, undamaged: Answer): boolean {
  const whole = undamaged.seen;
  if (seen === null || whole === null) return false;
  if (seen.finish !== whole.finish && !fault.repeats) return false;
  if (seen.usage !== whole.usage && !fault.repeats && !fault.losesUsage) return false;
  return seen.text === whole.text || (fault.repeats && isStuttered(seen.text, whole.text));
}

/** Whether a text is another one with a piece of it said twice. */
function isStuttered(text: string, whole: string): boolean {
  const more = text.length - whole.length;
  if (more < 0) return false;
  return Array.from({ length: whole.length + 1 }, (_, end) => end).some(
    (end) => end >= more && text === whole.slice(0, end) + whole.slice(end - more),
  );
}

function isBeginning({ fault }: Cell, { seen }: Answer, { own, spare }: Undamaged): boolean {
  if (seen === null) return false;
  return [own, spare].some(
    (answer) =>
      answer.seen?.text.startsWith(seen.text) === true || (fault.repeats && answer.seen !== null),
  );
}

function errorProblems({ fault }: Cell, { status, body, headers }: Answer): readonly string[] {
  const problems: string[] = [];
  // A rate limit and an overload that the only endpoint reports keep their meaning.
  const isOurs = fault.settings.includes("400")
    ? status === 400
    : [429, 502, 503, 504].includes(status);
  if (!isOurs) problems.push(`status ${status} for a failure of the provider`);
  if (!/"error":\{/.test(body) || !/"message":"/.test(body))
    problems.push("an error without the error's shape");
  const kinds = FAILURE_KINDS.filter((kind) => body.includes(`(${kind})`));
  const isFinal =
    (status < 500 && status !== 429) || kinds.every((kind) => hasTrait(kind, "lasting"));
  if ((headers["x-should-retry"] === "false") !== isFinal)
    problems.push("an error that does not say whether it may pass");
  return problems;
}

function leaks({ body, headers }: Answer, fate: Fate): readonly string[] {
  const said = fate === "error" ? UPSTREAM_NAMES : UPSTREAM_TEXT;
  const problems: string[] = [];
  if (said.test(body)) problems.push("the provider's text in the body");
  if (UPSTREAM_NAMES.test(JSON.stringify(headers)))
    problems.push("the provider's text in the headers");
  return problems;
}
