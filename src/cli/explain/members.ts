import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { readTime } from "../../canon/rfc3339.ts";
import { printable } from "../terminal/printing.ts";

/** A member's text, safe for a terminal; empty where there is none. An explanation may come from a server of another version. */
export function textOf(object: JsonObject | null, name: string): string {
  const value = object?.[name];
  return typeof value === "string" || typeof value === "number" ? printable(String(value)) : "";
}

export function objectOf(object: JsonObject | null, name: string): JsonObject | null {
  const value = object?.[name];
  return isJsonObject(value) ? value : null;
}

export function objectsOf(object: JsonObject | null, name: string): readonly JsonObject[] {
  const value = object?.[name];
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isJsonObject(item)) : [];
}

/** Strings of a list, safe for a terminal. */
export function stringsOf(object: JsonObject | null, name: string): readonly string[] {
  const value = object?.[name];
  return Array.isArray(value)
    ? value.filter((item): item is string => typeof item === "string").map((item) => printable(item))
    : [];
}

/** A finite number; `null` for anything else. */
export function numberOf(object: JsonObject | null, name: string): number | null {
  const value = object?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Milliseconds since the epoch of an RFC 3339 text; `null` for anything else. */
export function timeOf(object: JsonObject | null, name: string): number | null {
  const value = object?.[name];
  return typeof value === "string" ? readTime(value) : null;
}
