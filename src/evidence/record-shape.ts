import { isJsonObject } from "../canon/json.ts";

/** A check of one value of a record that was parsed from JSON. */
export type Check = (value: unknown) => boolean;

export const isText: Check = (value) => typeof value === "string";
export const isNumber: Check = (value) => typeof value === "number";
export const isFlag: Check = (value) => typeof value === "boolean";
export const isOneOf =
  (values: readonly string[]): Check =>
  (value) =>
    typeof value === "string" && values.includes(value);
export const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
export const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

/** Checks members; others are allowed. Called once for each shape. */
export function hasShape<Shape>(
  members: Readonly<Record<keyof Shape, Check>>,
): (value: unknown) => value is Shape {
  const checks = Object.entries<Check>(members);
  return (value): value is Shape =>
    isJsonObject(value) && checks.every(([name, check]) => check(value[name]));
}
