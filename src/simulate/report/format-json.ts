import { REPORT_SCHEMA, type SimulationReport } from "./report.ts";

/**
 * The report as canonical bytes: the members of its schema and no others, in their order; of maps,
 * all objects, sorted by name.
 */
export function formatJson(report: SimulationReport): string {
  return `${JSON.stringify(arranged(report, REPORT_SCHEMA), null, 2)}\n`;
}

function arranged(value: unknown, schema: object): unknown {
  if (Array.isArray(value)) {
    const items = memberOf(schema, "items") ?? {};
    return value.map((item: unknown) => arranged(item, items));
  }
  if (typeof value !== "object" || value === null) return value;
  const others = memberOf(schema, "additionalProperties");
  if (others !== null)
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, inner]) => typeof inner === "object")
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([name, inner]) => [name, arranged(inner, others)]),
    );
  const properties = memberOf(schema, "properties");
  if (properties === null) return value;
  const members = Object.entries(properties).flatMap(([name, inner]: [string, object]) =>
    Object.hasOwn(value, name) ? [[name, arranged(Reflect.get(value, name), inner)] as const] : [],
  );
  return Object.fromEntries(members);
}

function memberOf(
  schema: object,
  name: "items" | "properties" | "additionalProperties",
): object | null {
  const found: unknown = Reflect.get(schema, name);
  return typeof found === "object" ? found : null;
}
