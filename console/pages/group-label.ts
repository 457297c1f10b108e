/**
 * The label that a group of an answer has for a dimension; `null`: none, such as requests without a
 * route.
 */
export function groupLabel(
  group: Readonly<Record<string, unknown>>,
  dimension: string,
): string | null {
  const label = Object.hasOwn(group, dimension) ? group[dimension] : null;
  return typeof label === "string" ? label : null;
}
