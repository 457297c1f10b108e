import type { SimulationReport } from "./report.ts";
import { REPORT_ORDER, type Order } from "./report-order.ts";

/** The report as canonical bytes: the members of its types and no others, in their order. */
export function formatJson(report: SimulationReport): string {
  return `${JSON.stringify(arrange(report, REPORT_ORDER), null, 2)}\n`;
}

/** @param order `true` for a value without members. */
function arrange(value: unknown, order: Order | true): unknown {
  if (order === true || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => arrange(item, order));
  const members = Object.entries(order).flatMap(([name, inner]) =>
    Object.hasOwn(value, name) ? [[name, arrange(Reflect.get(value, name), inner)] as const] : [],
  );
  return Object.fromEntries(members);
}
