import type { Behaviour } from "../behaviour.ts";
import { valueFor } from "./schema-value.ts";

export interface Tool {
  readonly type: "function" | "custom";
  readonly name: string;
  /** Schema of a function's arguments. */
  readonly parameters: unknown;
  readonly strict: boolean;
}

export interface ToolUse {
  /** Tools that may be called, the preferred one first. */
  readonly callable: readonly Tool[];
  /** A tool has to be called, even after the result of one. */
  readonly required: boolean;
  readonly parallel: boolean;
}

/** What the simulated model looks at. */
export interface Situation {
  /** The model's name without settings. */
  readonly base: string;
  readonly messages: number;
  /** The conversation ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** The plan of the simulated answer. */
export interface Plan {
  readonly called: readonly Tool[];
  /** The arguments of each call, as text. */
  readonly calls: readonly string[];
  /** @param choice such as ` 1 of 3`; empty where there is one choice. */
  text(choice: string): string;
  /** The behaviour for the answer's text. */
  readonly wording: Behaviour;
}

/** What no value can be made for: a tool with strict parameters, or the answer's schema. */
export interface Unsatisfiable {
  readonly unsatisfiable: Tool | "answer";
}

export function planAnswer(situation: Situation, behaviour: Behaviour): Plan | Unsatisfiable {
  const called = toolsToCall(situation, behaviour);
  const calls: string[] = [];
  for (const tool of called) {
    const made =
      tool.type === "custom"
        ? { json: "simulated input", satisfied: true }
        : valueFor(tool.parameters);
    // Without `strict`, providers promise no valid arguments either.
    if (!made.satisfied && tool.strict) return { unsatisfiable: tool };
    calls.push(made.json);
  }
  const structured = situation.schema === null ? null : valueFor(situation.schema);
  if (structured?.satisfied === false) return { unsatisfiable: "answer" };
  const { base, messages, endsWithToolResult } = situation;
  const subject = endsWithToolResult
    ? "the result of a tool"
    : `${messages} message${messages === 1 ? "" : "s"}`;
  return {
    called,
    calls,
    text: (choice) => structured?.json ?? `Simulated answer${choice} from ${base} to ${subject}.`,
    // A structured answer keeps to its schema; filler instead would not be JSON.
    wording:
      structured === null ? behaviour : { ...behaviour, chunks: null, size: null, unicode: false },
  };
}

/**
 * Messages after which no tool is called any more unless it must be. Agents turn what a tool has
 * done into new messages, and a model that called a tool for each of them would keep them going for
 * ever.
 */
const PATIENCE = 12;

/**
 * A tool is called where there is one, except after the result of a tool: so a tool loop ends after
 * one round.
 */
function toolsToCall(
  { tools, endsWithToolResult, messages }: Situation,
  behaviour: Behaviour,
): readonly Tool[] {
  const { callable, required, parallel } = tools;
  const natural =
    callable.length > 0 && (required || (!endsWithToolResult && messages <= PATIENCE)) ? 1 : 0;
  const wanted = callable.length === 0 ? 0 : (behaviour.toolCalls ?? natural);
  const count = parallel ? wanted : Math.min(wanted, 1);
  return Array.from({ length: count }, (_, index) => callable[index % callable.length]).filter(
    (tool) => tool !== undefined,
  );
}
