import type { JsonObject } from "../json.ts";

/** One valid text for each format of JSON Schema that providers support. */
const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ["date-time", "2026-01-01T00:00:00Z"],
  ["date", "2026-01-01"],
  ["time", "00:00:00Z"],
  ["duration", "PT1S"],
  ["email", "someone@example.com"],
  ["hostname", "example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/"],
  ["uuid", "00000000-0000-4000-8000-000000000000"],
]);

/** @param ordinal index in the list around the value, so that members of a list differ. */
export function generateString(schema: JsonObject, ordinal: number): string | undefined {
  const formatted = FORMATS.get(schema.format);
  if (formatted !== undefined) return formatted;
  const least = numberAt(schema, "minLength") ?? 0;
  const most = numberAt(schema, "maxLength") ?? Infinity;
  if (least > 100_000) return undefined;
  if (typeof schema.pattern === "string") return matching(schema.pattern, least, most);
  const text = ordinal === 0 ? "simulated" : `simulated ${ordinal + 1}`;
  return text.padEnd(least, ".").slice(0, Math.min(most, Math.max(least, text.length)));
}

/** Texts that simple patterns accept, such as `^[a-z]+$`, `^\d{4}$` or `^[A-Z]{2}-\d+$`. */
function matching(pattern: string, least: number, most: number): string | undefined {
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, "u");
  } catch {
    return undefined;
  }
  const candidates = [
    ...FORMATS.values(),
    "AA-1",
    "a-b",
    "a_b",
    "a.b",
    "1.0.0",
    "#000000",
    "+10000000000",
  ];
  for (const character of ["a", "A", "0"])
    for (let length = 1; length <= 64; length += 1) candidates.push(character.repeat(length));
  return candidates.find(
    (text) => text.length >= least && text.length <= most && expression.test(text),
  );
}

/**
 * A number within the schema's bounds and on its grid.
 *
 * @param grid 1 for integers.
 * @returns `undefined` where no value is within the bounds.
 */
export function generateNumber(
  schema: JsonObject,
  ordinal: number,
  grid: 1 | null,
): number | undefined {
  const multiple = numberAt(schema, "multipleOf");
  const step = multiple ?? grid ?? 1;
  if (step <= 0) return undefined;
  const above = numberAt(schema, "exclusiveMinimum") ?? -Infinity;
  const below = numberAt(schema, "exclusiveMaximum") ?? Infinity;
  const least = Math.max(numberAt(schema, "minimum") ?? -Infinity, above);
  const most = Math.min(numberAt(schema, "maximum") ?? Infinity, below);
  const fits = (value: number): boolean =>
    value >= least && value <= most && value > above && value < below;
  const start = least > -Infinity ? Math.ceil(least / step) : Math.min(1, Math.floor(most / step));
  // A bound that is excluded costs one step; a list that runs over the upper bound begins again.
  for (const steps of [start + ordinal, start + ordinal + 1, start, start + 1, start - 1]) {
    const value = steps * step + 0;
    if (fits(value)) return value;
  }
  const middle = (least + most) / 2;
  return multiple === null && grid === null && fits(middle) ? middle : undefined;
}

function numberAt(schema: JsonObject, name: string): number | null {
  const value = schema[name];
  return typeof value === "number" ? value : null;
}
