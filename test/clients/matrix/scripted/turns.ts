import { isJsonObject, type JsonObject, type JsonValue } from "../../../../src/canon/json.ts";

/** What the scripted model does in one turn: it says something, or it calls one tool. */
export type Turn =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly input: JsonObject };

/** Wire protocols that the scripted provider speaks. */
export const PROTOCOLS = ["chat", "responses", "messages"] as const;

export type Protocol = (typeof PROTOCOLS)[number];

/** A request as far as the script looks at it. */
export interface Requested {
  readonly protocol: Protocol;
  readonly model: string;
  readonly stream: boolean;
  /**
   * The tool that runs a shell command, and the input that makes it run one; `null` where the
   * request offers none.
   */
  readonly shell: ((command: string) => Turn) | null;
  /** The conversation has the result of a tool. */
  readonly hasResult: boolean;
}

export function readRequested(protocol: Protocol, body: JsonObject): Requested {
  return {
    protocol,
    model: typeof body.model === "string" ? body.model : "",
    stream: body.stream === true,
    shell: shellOf(body.tools),
    hasResult: RESULTS.test(JSON.stringify(body.messages ?? body.input ?? [])),
  };
}

/**
 * Marks of a tool's result in the three protocols. Texts of users have their quotes escaped and
 * cannot look like it.
 */
const RESULTS =
  /"role":"tool"|"type":"tool_result"|"type":"(?:function_call|custom_tool_call)_output"/;

/**
 * Agents name their shell and its member differently: the first tool with a member for a command is
 * taken.
 */
function shellOf(tools: unknown): Requested["shell"] {
  for (const { name, schema } of toolsOf(tools)) {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const member = Object.keys(properties).find((key) => /^(command|cmd|commands)$/.test(key));
    if (member === undefined) continue;
    return (command) => ({
      kind: "call",
      name,
      input: inputOf(schema, properties, member, command),
    });
  }
  return null;
}

interface Tool {
  readonly name: string;
  readonly schema: JsonObject;
}

/**
 * Chat nests its tools in `function`, responses groups some in namespaces, and messages says
 * `input_schema`.
 */
function toolsOf(tools: unknown): readonly Tool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown): readonly Tool[] => {
    if (!isJsonObject(tool)) return [];
    const named = isJsonObject(tool.function) ? tool.function : tool;
    const schema = named.parameters ?? named.input_schema;
    return typeof named.name === "string" && isJsonObject(schema)
      ? [{ name: named.name, schema }]
      : [];
  });
}

/** The command in its member, and a plain value in every other member that is required. */
function inputOf(
  schema: JsonObject,
  properties: JsonObject,
  member: string,
  command: string,
): JsonObject {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const input: Record<string, JsonValue> = {};
  for (const name of required) input[name] = plainValue(properties[name]);
  const isList = isJsonObject(properties[member]) && properties[member].type === "array";
  input[member] = isList ? (member === "commands" ? [command] : ["bash", "-c", command]) : command;
  return input;
}

function plainValue(schema: JsonValue | undefined): JsonValue {
  if (!isJsonObject(schema)) return "test";
  if (Array.isArray(schema.enum)) return String(schema.enum[0]);
  const values: Readonly<Record<string, JsonValue>> = {
    boolean: false,
    integer: 10,
    number: 10,
    array: [],
    object: {},
  };
  return (typeof schema.type === "string" ? values[schema.type] : undefined) ?? "test";
}
