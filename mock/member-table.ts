import { isJsonObject, type JsonObject } from "./json.ts";
import type { Problem } from "./problem.ts";

/** Whether a value is what a member may hold. */
export type Check = (value: unknown) => boolean;

/** Every member of an object, what it must be in words, and how that is checked. */
export type MemberTable = ReadonlyMap<string, readonly [description: string, check: Check]>;

/** How a protocol says what is wrong with a member. */
export interface Wording {
  missing(name: string): Problem;
  unknown(name: string): Problem;
  wrong(name: string, description: string): Problem;
  /** Whether `null` counts as absent; else the member's own check decides. */
  readonly takesNull: boolean;
}

export interface Members {
  readonly table: MemberTable;
  readonly required: readonly string[];
  /** Accepts members that the table does not have, as many compatible providers do. */
  readonly lenient: boolean;
}

/** Longest part of an unknown member's name that an error repeats: names come from the request. */
const LONGEST_NAME = 60;

/** The first thing wrong with the members of an object; `null` where they are as the table says. */
export function checkMembers(body: JsonObject, members: Members, wording: Wording): Problem | null {
  for (const name of members.required) {
    const value = body[name];
    if (value === undefined || (value === null && wording.takesNull)) return wording.missing(name);
  }
  for (const [name, value] of Object.entries(body)) {
    const member = members.table.get(name);
    if (member === undefined) {
      if (!members.lenient) return wording.unknown(name.slice(0, LONGEST_NAME));
    } else if (!(value === null && wording.takesNull) && !member[1](value)) {
      return wording.wrong(name, member[0]);
    }
  }
  return null;
}

/** A table from rows, each a name, a description and a check. */
export function memberTable(...rows: readonly (readonly [string, string, Check])[]): MemberTable {
  return new Map(rows.map(([name, description, check]) => [name, [description, check]]));
}

export const isText: Check = (value) => typeof value === "string";
export const isFilledText: Check = (value) => typeof value === "string" && value !== "";
export const isBoolean: Check = (value) => typeof value === "boolean";
export const isObject: Check = isJsonObject;
export const isList: Check = Array.isArray;
export const isTextOrList: Check = (value) => isText(value) || isList(value);
export const isTextOrObject: Check = (value) => isText(value) || isObject(value);
export const isWhole: Check = (value) => Number.isInteger(value);

export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

export const between =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === "number" && value >= least && value <= most;

export const integer =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && between(least, most)(value);

export const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.some((word) => word === value);

export const listOf =
  (check: Check, least = 0, most = Infinity): Check =>
  (value) =>
    Array.isArray(value) && value.length >= least && value.length <= most && value.every(check);

/** Members that hold numbers, where present. */
export function numberOr<Default>(value: unknown, otherwise: Default): number | Default {
  return typeof value === "number" ? value : otherwise;
}

/** The texts of a member that holds one or a list of them; empty ones count for nothing. */
export function textsOf(value: unknown): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}

/** The list that a member holds; empty where it holds none. */
export function listAt(object: JsonObject, name: string): readonly unknown[] {
  const value: unknown = object[name];
  return Array.isArray(value) ? value : [];
}

/** The texts of the list that a member holds, empty ones too; what is no text is left out. */
export function textsAt(object: JsonObject, name: string): readonly string[] {
  return listAt(object, name)
    .filter((item) => typeof item === "string")
    .map(String);
}

/** The text that a member holds; empty where it holds none. */
export function textAt(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}
