import { isList, isText, listAt, memberTable, textAt } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessage } from "./members.ts";
import { readPart, type Part } from "./parts.ts";

/** What the answer depends on; the texts themselves are not kept. */
export interface Conversation {
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens a content. */
  readonly tokens: number;
  /** The conversation ends with the result of a function. */
  readonly endsWithToolResult: boolean;
}

const CONTENT = memberTable(["role", "'user' or 'model'", isText], ["parts", "a list", isList]);

interface Content {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** Reads `systemInstruction`: its role does not matter. */
export function readInstruction(value: unknown): { readonly tokens: number } | Problem {
  if (value === undefined || value === null) return { tokens: 0 };
  const content = readContent(value, "system_instruction", "user");
  return "status" in content ? content : { tokens: tokensOf([content]) };
}

/**
 * Checks `contents` as Google does: roles, parts, signatures, and that every turn of calls is followed by as many results. Contents of one role
 * may follow each other; they are one turn.
 *
 * @param demandsSignatures whether the model refuses calls without a signature.
 */
export function readContents(value: unknown, demandsSignatures: boolean): Conversation | Problem {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length === 0) return invalid("contents", "contents is not specified");
  const contents: Content[] = [];
  for (const [index, item] of list.entries()) {
    const content = readContent(item, `contents[${index}]`, null);
    if ("status" in content) return content;
    contents.push(content);
  }
  const problem = checkPairs(contents) ?? (demandsSignatures ? checkSigned(contents) : null);
  if (problem !== null) return problem;
  return {
    messages: contents.length,
    tokens: tokensOf(contents),
    endsWithToolResult: contents.at(-1)?.parts.some(({ kind }) => kind === "functionResponse") === true,
  };
}

/** @param assumed the role where the content says none. */
function readContent(value: unknown, path: string, assumed: string | null): Content | Problem {
  const read = readMessage(typeof value === "string" ? { parts: [{ text: value }] } : value, CONTENT, path);
  if ("problem" in read) return read.problem;
  const role = assumed ?? (textAt(read.members, "role") || "user");
  if (role !== "user" && role !== "model" && role !== "function") {
    return invalid(`${path}.role`, "Please use a valid role: user, model.");
  }
  const parts: Part[] = [];
  for (const [index, item] of listAt(read.members, "parts").entries()) {
    const part = readPart(item, role, `${path}.parts[${index}]`);
    if ("status" in part) return part;
    parts.push(part);
  }
  return parts.length === 0 ? invalid(`${path}.parts`, "contents.parts must not be empty.") : { role, parts };
}

function tokensOf(contents: readonly Content[]): number {
  return contents.reduce((sum, { parts }) => sum + 4 + parts.reduce((more, { tokens }) => more + tokens, 0), 0);
}

function checkPairs(contents: readonly Content[]): Problem | null {
  let asked = 0;
  for (const [index, turn] of turnsOf(contents).entries()) {
    const answered = count(turn, "functionResponse");
    // Whether the last calls have been answered is for the caller to say in the next turn.
    if (turn.role !== "model" && answered !== asked) {
      return invalid(
        `turn ${index}`,
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    }
    asked = turn.role === "model" ? count(turn, "functionCall") : 0;
  }
  return null;
}

function count({ parts }: Content, wanted: string): number {
  return parts.filter(({ kind }) => kind === wanted).length;
}

function turnsOf(contents: readonly Content[]): readonly Content[] {
  const turns: Content[] = [];
  for (const { role, parts } of contents) {
    const last = turns.at(-1);
    const isSame = last !== undefined && (last.role === "model") === (role === "model");
    if (isSame) turns[turns.length - 1] = { role: last.role, parts: [...last.parts, ...parts] };
    else turns.push({ role, parts });
  }
  return turns;
}

/** Of several calls at once only the first is signed. */
function checkSigned(contents: readonly Content[]): Problem | null {
  for (const [index, { parts }] of contents.entries()) {
    const first = parts.find(({ kind }) => kind === "functionCall");
    if (first !== undefined && !first.isSigned) {
      return invalid(`contents[${index}]`, "Function call is missing a thought_signature in functionCall parts.");
    }
  }
  return null;
}
