/** A `text[]` as a text that PostgreSQL reads; the driver knows no array types. */
export function textArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** The same of `int[]` and `bigint[]`. */
export function numberArray(values: readonly number[]): string {
  return `{${values.join(",")}}`;
}
