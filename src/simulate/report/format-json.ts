import { REPORT_SCHEMA, type SimulationReport } from "./report.ts";

/** The report as canonical bytes: the members of its schema and no others, in their order. */
export function formatJson(report: SimulationReport): string {
  return `${JSON.stringify(arranged(report, REPORT_SCHEMA), null, 2)}\n`;
}

function arranged(value: unknown, schema: object): unknown {
  if (Array.isArray(value)) {
    const items = memberOf(schema, "items") ?? {};
    return value.map((item: unknown) => arranged(item, items));
  }
  const properties = memberOf(schema, "properties");
  if (typeof value !== "object" || value === null || properties === null) return value;
  const members = Object.entries(properties).flatMap(([name, inner]: [string, object]) =>
    Object.hasOwn(value, name) ? [[name, arranged(Reflect.get(value, name), inner)] as const] : [],
  );
  return Object.fromEntries(members);
}

function memberOf(schema: object, name: "items" | "properties"): object | null {
  const found: unknown = Reflect.get(schema, name);
  return typeof found === "object" ? found : null;
}
