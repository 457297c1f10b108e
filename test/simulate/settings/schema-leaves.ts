/**
 * A step of a path: the name of a member, `*` for the name of a row, `[]` for an item of a list of
 * rows.
 */
export type Pattern = readonly string[];

export interface Leaf {
  readonly pattern: Pattern;
  readonly schema: Schema;
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * Every location of a schema where a value without members may stand, with the list that it may
 * stand in.
 */
export function leavesOf(root: Schema): readonly Leaf[] {
  const found = new Map<string, Leaf>();
  const visit = (given: unknown, pattern: Pattern): void => {
    const schema = resolved(root, given);
    if (schema === null) return;
    const properties = resolved(root, schema.properties) ?? {};
    const branches = [schema.then, schema.else, ...list(schema.oneOf), ...list(schema.anyOf)];
    const rows = resolved(root, schema.additionalProperties);
    const items = resolved(root, schema.items);
    for (const [name, member] of Object.entries(properties)) visit(member, [...pattern, name]);
    if (rows !== null) visit(rows, [...pattern, "*"]);
    if (items !== null && resolved(root, items.properties) !== null)
      visit(items, [...pattern, "[]"]);
    for (const branch of branches) visit(branch, pattern);
    const isLeaf =
      schema.type !== "object" && (schema.type ?? schema.enum ?? schema.const) !== undefined;
    if (isLeaf && (items === null || resolved(root, items.properties) === null)) {
      const key = pattern.join(".");
      found.set(key, { pattern, schema: { ...found.get(key)?.schema, ...schema } });
    }
  };
  visit(root, []);
  return [...found.values()].filter(({ pattern }) => pattern.length > 0);
}

function resolved(root: Schema, given: unknown): Schema | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const reference: unknown = Reflect.get(given, "$ref");
  if (typeof reference !== "string") return given as Schema;
  const found = reference
    .split("/")
    .slice(1)
    .reduce<unknown>(
      (at, name) => (typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined),
      root,
    );
  return { ...resolved(root, found), ...(given as Schema), $ref: undefined };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
