/** A part that is shorter than this, as JSON, is written where it is used. */
const SHORTEST = 160;

/**
 * A JSON Schema in which every longer part that it repeats is a definition, named after the member
 * that has it first: `example`, `example-2`.
 */
export function withDefinitions(schema: object): object {
  const uses = new Map<string, number>();
  const count = (value: object): void => {
    const text = JSON.stringify(value);
    const known = uses.get(text) ?? 0;
    uses.set(text, known + 1);
    if (known === 0) for (const part of Object.values(value)) if (isObject(part)) count(part);
  };
  count(schema);
  const names = new Map<string, string>();
  const definitions: Record<string, unknown> = {};
  const written = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => written(item, name));
    if (!isObject(value)) return value;
    const text = JSON.stringify(value);
    const isSchema = "type" in value || "enum" in value;
    if (!isSchema || text.length < SHORTEST || (uses.get(text) ?? 0) < 2) return parts(value, name);
    const known = names.get(text);
    if (known !== undefined) return { $ref: `#/$defs/${known}` };
    let own = name;
    for (let number = 2; Object.hasOwn(definitions, own); number += 1) own = `${name}-${number}`;
    names.set(text, own);
    definitions[own] = null;
    definitions[own] = parts(value, name);
    return { $ref: `#/$defs/${own}` };
  };
  const parts = (value: object, name: string): object =>
    Object.fromEntries(
      Object.entries(value).map(([key, part]: [string, unknown]) => [
        key,
        key === "properties" && isObject(part)
          ? Object.fromEntries(
              Object.entries(part).map(([member, one]) => [member, written(one, member)]),
            )
          : written(part, name),
      ]),
    );
  return { ...parts(schema, "report"), $defs: definitions };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
