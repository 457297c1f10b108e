import type { Schema } from "../../src/compile/authored/schema.ts";

type Part = Schema[string];
type Definitions = Readonly<Record<string, Schema>>;

/**
 * The file that the two others refer to, beside them. They have no `$id`, so that an editor
 * resolves the name against their own address.
 */
export const ROUTES_FILE = "routes.schema.json";

/**
 * The schema of an included file, for editors: the same sections, none of them required. The
 * compiler checks the merged whole.
 */
export function partSchema(schema: Schema): Schema {
  const { include: _include, ...sections } = membersOf(schema.properties);
  return {
    $schema: schema["$schema"] ?? "",
    title: "A file that routes.yaml includes",
    type: "object",
    description: "Sections of routes.yaml in a file of their own.",
    properties: Object.fromEntries(
      Object.keys(sections).map((name) => [name, { $ref: `${ROUTES_FILE}#/properties/${name}` }]),
    ),
    additionalProperties: false,
  };
}

/**
 * The schema of an overlay, for editors: nothing is required, `null` removes a key, and `endpoints`
 * is a mapping by id.
 */
export function overlaySchema(schema: Schema): Schema {
  const { include: _include, endpoints, ...sections } = membersOf(schema.properties);
  const rows: Schema = {
    type: "object",
    description: "Rows of endpoints by id: what differs, a whole new row, or null for none.",
    propertyNames: { $ref: "#/$defs/name" },
    additionalProperties: membersOf(endpoints).items ?? {},
  };
  const definitions = membersOf(schema["$defs"]);
  const { properties = {}, $defs = {} } = membersOf(
    relax({ properties: { ...sections, endpoints: rows }, $defs: definitions }),
  );
  const own = changedDefinitions(definitions, membersOf($defs));
  const shape = {
    $schema: schema["$schema"] ?? "",
    title: "routes.NAME.yaml",
    type: "object",
    description:
      "What is different in one environment. Mappings merge, other values replace, null removes.",
    properties,
    additionalProperties: false,
    $defs: Object.fromEntries(Object.entries(membersOf($defs)).filter(([name]) => own.has(name))),
  } satisfies Schema;
  return membersOf(referring(shape, own));
}

/** Names of definitions that differ from those of routes.yaml, or refer to one that does. */
function changedDefinitions(whole: Definitions, relaxed: Definitions): ReadonlySet<string> {
  const changed = new Set<string>();
  for (let before = -1; before < changed.size;) {
    before = changed.size;
    for (const [name, definition] of Object.entries(relaxed)) {
      const text = JSON.stringify(definition);
      const refers = [...changed].some((other) => text.includes(`"#/$defs/${other}"`));
      if (refers || text !== JSON.stringify(whole[name])) changed.add(name);
    }
  }
  return changed;
}

/**
 * A copy in which references to definitions that are not its own lead into the schema of
 * routes.yaml.
 */
function referring(schema: Part, own: ReadonlySet<string>): Part {
  if (Array.isArray(schema)) return schema.map((one) => referring(one, own) ?? null);
  if (!isMapping(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      const name =
        keyword === "$ref" && typeof value === "string"
          ? /^#\/\$defs\/(.+)$/.exec(value)?.[1]
          : undefined;
      return [
        keyword,
        name === undefined || own.has(name)
          ? referring(value, own)
          : `${ROUTES_FILE}#/$defs/${name}`,
      ];
    }),
  );
}

/** Keywords about a whole row. */
const WHOLE: ReadonlySet<string> = new Set(["required", "minProperties", "oneOf", "else", "not"]);

function relax(schema: Part): Part {
  if (Array.isArray(schema)) return schema;
  if (typeof schema !== "object" || schema === null) return schema;
  const entries: (readonly [string, Part])[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    // The `else` of a row that may name a preset only lists required members; any other describes a
    // value.
    if (WHOLE.has(keyword) && !(keyword === "else" && !("required" in membersOf(value)))) continue;
    if (keyword === "properties") {
      entries.push([
        keyword,
        Object.fromEntries(
          Object.entries(membersOf(value)).map(([name, one]) => [name, orNull(one)]),
        ),
      ]);
    } else if (keyword === "additionalProperties") entries.push([keyword, orNull(value)]);
    else if (keyword === "$defs") {
      entries.push([
        keyword,
        Object.fromEntries(
          Object.entries(membersOf(value)).map(([name, one]) => [name, relax(one)]),
        ),
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

/** A schema about an object's members; lists and strings have none. */
function isMapping(value: unknown): value is Readonly<Record<string, Schema>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
