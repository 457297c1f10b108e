import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, type MemberTable } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";

/** An object of the protocol: its members by their names in JSON, of which the protocol takes two spellings. */
export type Message = { readonly members: JsonObject } | { readonly problem: Problem };

/** Reads an object of the protocol and checks its members. */
export function readMessage(value: unknown, table: MemberTable, path: string, lenient = false): Message {
  if (!isJsonObject(value)) return { problem: invalid(path === "" ? null : path, "Invalid value, must be an object") };
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [camelCase(name), member]));
  const problem = checkMembers(members, { table, required: [], lenient }, wordingAt(path));
  return problem === null ? { members } : { problem };
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
