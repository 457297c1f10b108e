import type { ServiceError } from "../../../canon/error.ts";
import type { AssistantTurn, SystemTurn, ToolResult, ToolTurn, Turn } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { type Draft, formatInput, formatResults, formatText, OpenCalls } from "./format-parts.ts";
import { SaidParts, type CallStyle } from "./format-said.ts";

/** Writes `systemInstruction` and `contents`. The error is for a tool result that answers no call. */
export function formatTurns(turns: readonly Turn[], style: CallStyle, draft: Draft): ServiceError | null {
  const first = turns.findIndex(({ role }) => role !== "system");
  const leading = first === -1 ? turns.length : first;
  const system = turns.slice(0, leading).filter((turn): turn is SystemTurn => turn.role === "system");
  const instruction = formatSystem(system, draft);
  if (instruction.length > 0) draft.body["systemInstruction"] = { parts: instruction };
  const contents = formatContents(turns.slice(leading), style, draft);
  if (!isParts(contents)) return contents;
  if (turns.at(-1)?.role === "assistant") draft.dropped.add("prefill_as_turn");
  // A conversation of nothing but empty texts goes on, for the provider to judge: there is nothing else to send.
  draft.body["contents"] = contents.length > 0 ? contents : [{ role: "user", parts: [{ text: "" }] }];
  return null;
}

function formatSystem(turns: readonly SystemTurn[], draft: Draft): readonly JsonObject[] {
  if (turns.length > 1) draft.dropped.add("system_joined");
  if (turns.some(({ authority }) => authority === "developer")) draft.dropped.add("developer_as_system");
  return turns.flatMap(({ content }) => content.flatMap((part) => formatText(part, draft)));
}

/**
 * Results must follow the calls that they answer in one turn, so that turns of tools that follow each other are one, and turns of the model are, too. Turns of the
 * user stay apart: the provider takes several in a row.
 */
function formatContents(turns: readonly Turn[], style: CallStyle, draft: Draft): readonly JsonObject[] | ServiceError {
  const contents: JsonObject[] = [];
  const calls = new OpenCalls();
  for (const group of groupTurns(turns)) {
    for (const turn of group) calls.note(turn);
    const parts = formatGroup(group, calls, style, draft);
    if (!isParts(parts)) return parts;
    // The provider refuses a turn without parts; its empty texts are recorded as dropped.
    if (parts.length > 0) contents.push({ role: group[0]?.role === "assistant" ? "model" : "user", parts });
  }
  return contents;
}

function isParts(parts: readonly JsonObject[] | ServiceError): parts is readonly JsonObject[] {
  return Array.isArray(parts);
}

function groupTurns(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const groups: Turn[][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    const role = last?.[0]?.role;
    if (last !== undefined && role === turn.role && role !== "user") last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

function formatGroup(
  group: readonly Turn[],
  calls: OpenCalls,
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const [first] = group;
  switch (first?.role) {
    case "user":
      if (first.name !== null) draft.dropped.add("participant_name_dropped");
      return formatInput(first.content, draft);
    case "assistant":
      return formatSaid(
        group.filter((turn): turn is AssistantTurn => turn.role === "assistant"),
        style,
        draft,
      );
    case "tool": {
      const results = group
        .filter((turn): turn is ToolTurn => turn.role === "tool")
        .flatMap((turn): readonly ToolResult[] => turn.results);
      return formatResults(results, calls, style.withIds, draft);
    }
    case "system":
    case undefined:
      throw new Error("formatTurns: system text after the first turn, which the dialect has no feature for");
  }
}

function formatSaid(turns: readonly AssistantTurn[], style: CallStyle, draft: Draft): readonly JsonObject[] {
  if (turns.length > 1) draft.dropped.add("turns_merged");
  const said = new SaidParts(draft, style);
  for (const { name, content } of turns) {
    if (name !== null) draft.dropped.add("participant_name_dropped");
    for (const part of content) said.add(part);
  }
  return said.end();
}
