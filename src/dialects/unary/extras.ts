import type { RequestEdits } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { UnknownFields } from "../../canon/table.ts";
import { unknownFields, type FieldRegistry } from "../fields.ts";
import { TranslationRecord, Members } from "../members.ts";

/**
 * Takes out of a body what is not sent, and what is sent as it came: identity members and those
 * that a policy takes out are recorded; members that are unknown go back where the route forwards
 * them, for endpoints of the surface's own protocol.
 */
export function takeExtras(
  members: Members,
  body: JsonObject,
  registry: FieldRegistry,
  mode: UnknownFields,
  edits: RequestEdits,
): JsonObject {
  for (const name of Object.keys(registry))
    if (registry[name]?.class === "identity") strip(members, name);
  for (const name of edits.stripFields) strip(members, name);
  if (mode !== "forward") return NONE;
  // Without a prototype: a member that is called `__proto__` must travel as a member, not become
  // one.
  const extras: Record<string, JsonValue | undefined> = Object.create(null);
  const stripFields: readonly string[] = edits.stripFields;
  for (const name of unknownFields(registry, body)) {
    if (stripFields.includes(name)) continue;
    const value = members.take(name);
    if (value !== undefined) extras[name] = value;
  }
  return extras;
}

/**
 * The 400 of an endpoint of another protocol for members that are forwarded; `null` where there are
 * none.
 */
export function refuseExtras(extras: JsonObject): ServiceError | null {
  const record = new TranslationRecord();
  new Members(extras, "", record).close();
  return record.result("forward");
}

function strip(members: Members, name: string): void {
  if (members.take(name) !== undefined) members.record.strip(name);
}

const NONE: JsonObject = Object.freeze(Object.create(null));
