import type { Person } from "../../canon/identity.ts";
import { isJsonObject, parseJson } from "../../canon/json.ts";
import type { SessionRecord } from "../../keys/key-store.ts";
import { readNumber, readText, readTextOrNull, readTexts, type Row } from "./row.ts";

/** A session from its columns; their names are the same in every engine. */
export function readSession(row: Row): SessionRecord {
  const key = readTextOrNull(row, "key_id");
  return {
    digest: readText(row, "digest"),
    holder: key === null ? readPerson(readText(row, "person")) : { key },
    createdAt: readNumber(row, "created_at"),
    seenAt: readNumber(row, "seen_at"),
    endsAt: readNumber(row, "ends_at"),
  };
}

/** The columns `key_id` and `person`: one of them is `null`. */
export function holderColumns({
  holder,
}: Pick<SessionRecord, "holder">): readonly [string | null, string | null] {
  if ("key" in holder) return [holder.key, null];
  const { issuer, subject, name, groups } = holder;
  return [null, JSON.stringify({ issuer, subject, name, groups })];
}

function readPerson(text: string): Person {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new TypeError("column person holds no object");
  return {
    issuer: readText(value, "issuer"),
    subject: readText(value, "subject"),
    name: readTextOrNull(value, "name"),
    groups: readTexts(value, "groups"),
  };
}
