import type { Schema } from "../authored/schema.ts";

type Part = Schema[string];

const PART_ID = "urn:signalbox:routes-part:1";
const OVERLAY_ID = "urn:signalbox:routes-overlay:1";

/** The shape of an included file, for editors: the same sections, none of them required. What the compiler checks is the merged whole. */
export function partSchema(schema: Schema): Schema {
  const { include: _include, ...properties } = membersOf(schema["properties"]);
  return {
    ...schema,
    $id: PART_ID,
    title: "A file that routes.yaml includes",
    description: "Sections of routes.yaml that stand in a file of their own.",
    properties,
    required: [],
  };
}

/** The shape of an overlay, for editors: nothing is required, `null` removes a key, and `endpoints` is a mapping by id. */
export function overlaySchema(schema: Schema): Schema {
  const { include: _include, endpoints, ...sections } = membersOf(schema["properties"]);
  const rows: Schema = {
    type: "object",
    description: "Rows of endpoints by id: what differs, a whole new row, or null for none.",
    propertyNames: { $ref: "#/$defs/name" },
    additionalProperties: membersOf(endpoints)["items"] ?? {},
  };
  const { properties = {}, $defs = {} } = membersOf(
    relax({ properties: { ...sections, endpoints: rows }, $defs: schema["$defs"] ?? {} }),
  );
  return {
    $schema: schema["$schema"] ?? "",
    $id: OVERLAY_ID,
    title: "routes.NAME.yaml",
    type: "object",
    description: "What is different in one environment. Mappings merge, other values replace, null removes.",
    properties,
    additionalProperties: false,
    $defs,
  };
}

/** Keywords that say what a whole row has. */
const WHOLE: ReadonlySet<string> = new Set(["required", "minProperties", "oneOf", "else", "not"]);

function relax(schema: Part): Part {
  if (Array.isArray(schema)) return schema;
  if (typeof schema !== "object" || schema === null) return schema;
  const entries: (readonly [string, Part])[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    // The `else` of a row that may name a preset only says what is required; any other says what a value is.
    if (WHOLE.has(keyword) && !(keyword === "else" && !("required" in membersOf(value)))) continue;
    if (keyword === "properties") {
      entries.push([
        keyword,
        Object.fromEntries(Object.entries(membersOf(value)).map(([name, one]) => [name, orNull(one)])),
      ]);
    } else if (keyword === "additionalProperties") entries.push([keyword, orNull(value)]);
    else if (keyword === "$defs") {
      entries.push([
        keyword,
        Object.fromEntries(Object.entries(membersOf(value)).map(([name, one]) => [name, relax(one)])),
      ]);
    } else entries.push([keyword, relax(value)]);
  }
  return Object.fromEntries(entries);
}

function orNull(schema: Part): Part {
  if (typeof schema === "boolean") return schema;
  const { description, ...rest } = membersOf(relax(schema));
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: "null" }] };
}

function membersOf(value: Part | undefined): Readonly<Record<string, Schema>> {
  return isMapping(value) ? value : {};
}

/** What is asked for members of it is one; lists and words have none. */
function isMapping(value: unknown): value is Readonly<Record<string, Schema>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
