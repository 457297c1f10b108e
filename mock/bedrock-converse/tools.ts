import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, isList, isObject, listAt, memberTable, textAt } from "../member-table.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";
import { readBlocks, type Conversation } from "./messages.ts";

export interface ConverseTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

const CONFIGURATION = memberTable(["tools", "a list", isList], ["toolChoice", "a structure", isObject]);

/** Reads `toolConfig`, which must be there where the history has tools. Tools that Bedrock runs are taken and never called. */
export function readTools(body: JsonObject, { hasTools }: Conversation): ConverseTools | Problem {
  const configuration = body["toolConfig"];
  if (!isJsonObject(configuration)) {
    return hasTools
      ? invalid(null, "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
      : { callable: [], required: false, parallel: true, tokens: 0 };
  }
  const members = { table: CONFIGURATION, required: ["tools"], lenient: false };
  const problem = checkMembers(configuration, members, wordingAt("toolConfig"));
  if (problem !== null) return problem;
  const list = listAt(configuration, "tools");
  const blocks = readBlocks(list, "tools", "toolConfig.tools");
  if ("status" in blocks) return blocks;
  if (blocks.length === 0) return invalid("toolConfig.tools", "Member must have length greater than or equal to 1");
  const tools: Tool[] = [];
  const forbidden = new Set<string>();
  for (const { kind, value } of blocks) {
    if (kind !== "toolSpec" || !isJsonObject(value)) continue;
    // The simulated model reads descriptions that far.
    if (/\bnever call\b/i.test(textAt(value, "description"))) forbidden.add(textAt(value, "name"));
    const { inputSchema, strict } = value;
    const parameters = isJsonObject(inputSchema) ? inputSchema["json"] : undefined;
    if (!isJsonObject(parameters) || parameters["type"] !== "object")
      return invalid("toolConfig.tools.toolSpec.inputSchema.json.type", "Member must be 'object'");
    tools.push({ type: "function", name: textAt(value, "name"), parameters, strict: strict === true });
  }
  if (new Set(tools.map(({ name }) => name)).size < tools.length)
    return invalid("toolConfig.tools", "Tool names must be unique.");
  const use = readChoice(configuration["toolChoice"], tools, forbidden);
  if ("status" in use) return use;
  return { ...use, parallel: isParallel(body), tokens: Math.ceil(JSON.stringify(list).length / 4) };
}

/** @param forbidden names of tools that are called only by force. */
function readChoice(choice: unknown, tools: readonly Tool[], forbidden: ReadonlySet<string>): ToolUse | Problem {
  const auto = { callable: tools.filter(({ name }) => !forbidden.has(name)), required: false, parallel: true };
  if (!isJsonObject(choice)) return auto;
  const [[kind, value] = ["", null], ...more] = Object.entries(choice);
  if (more.length > 0 || !isJsonObject(value) || !["auto", "any", "tool"].includes(kind))
    return invalid("toolConfig.toolChoice", "Exactly one of auto, any and tool must be set");
  if (kind === "auto") return auto;
  const callable = kind === "any" ? tools : tools.filter(({ name }) => name === value["name"]);
  return callable.length === 0
    ? invalid("toolConfig.toolChoice.tool.name", "The tool must be one of those provided.")
    : { callable, required: true, parallel: true };
}

/** A field of some models. */
function isParallel(body: JsonObject): boolean {
  const additional = body["additionalModelRequestFields"];
  const choice = isJsonObject(additional) ? additional["tool_choice"] : undefined;
  return !isJsonObject(choice) || choice["disable_parallel_tool_use"] !== true;
}
