import type { RequestEdits } from "../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import type { UnknownFields } from "../../canon/table.ts";
import { isEmptyValue, shownName, unknownFields, type FieldRegistry } from "../request-reading.ts";
import { untranslatable } from "../translate-request.ts";

/**
 * The record of one translation: every leaf of a body is read or listed here, so that none is
 * dropped without a record (docs/translation.md#nothing-disappears).
 */
export class TranslationRecord {
  readonly dropped = new Set<DroppedField>();
  readonly stripped = new Set<string>();
  #refusal: ServiceError | null = null;
  readonly #unknown: string[] = [];

  drop(field: DroppedField): void {
    this.dropped.add(field);
  }

  /** @param name registered name of a member, never the caller's text. */
  strip(name: string): void {
    this.stripped.add(name);
  }

  /** Only the first error is kept: it is the one that the caller gets. */
  refuseRequest(error: ServiceError): void {
    this.#refusal ??= error;
  }

  unknown(path: string): void {
    this.#unknown.push(path);
  }

  /** The 400 of this translation, or `null`. Unknown members that the route strips are recorded. */
  result(mode: UnknownFields): ServiceError | null {
    if (this.#refusal !== null) return this.#refusal;
    const [path] = this.#unknown;
    if (path === undefined) return null;
    if (mode === "strip") {
      this.strip("unknown_field");
      return null;
    }
    return untranslatable(path, mode);
  }
}

/**
 * Reads the members of one object of a body and notes those that were not read. `null` counts as
 * absent, as in all four protocols.
 *
 * @example
 *   const members = new Members(body, "", record);
 *   const query = members.text("query");
 *   members.close(); // every other member is recorded as unknown
 */
export class Members {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #record: TranslationRecord;
  readonly #read = new Set<string>();

  /** @param path path of the object in the body; the empty string for the body itself. */
  constructor(object: JsonObject, path: string, record: TranslationRecord) {
    this.#object = object;
    this.#path = path;
    this.#record = record;
  }

  get record(): TranslationRecord {
    return this.#record;
  }

  /** Path of a member, as in an error's `param`. */
  pathOf(name: string): string {
    const shown = shownName(name);
    return this.#path === "" ? shown : `${this.#path}.${shown}`;
  }

  /** The member's value; `undefined` where it is absent or null. It counts as read. */
  take(name: string): JsonMember {
    this.#read.add(name);
    if (!Object.hasOwn(this.#object, name)) return undefined;
    return this.#object[name] ?? undefined;
  }

  text(name: string): string | null {
    const value = this.take(name);
    if (value === undefined) return null;
    return typeof value === "string" ? value : this.#wrongType(name, "a string");
  }

  number(name: string): number | null {
    const value = this.take(name);
    if (value === undefined) return null;
    return typeof value === "number"
      ? value
      : this.#wrongType(name, "a number that a double can hold");
  }

  flag(name: string): boolean | null {
    const value = this.take(name);
    if (value === undefined) return null;
    return typeof value === "boolean" ? value : this.#wrongType(name, "a boolean");
  }

  /** One of `values`; any other is an error that names the member. */
  oneOf<Value extends string>(name: string, values: readonly Value[]): Value | null {
    const value = this.text(name);
    if (value === null) return null;
    const known = values.find((one) => one === value);
    if (known !== undefined) return known;
    const path = this.pathOf(name);
    this.#record.refuseRequest(
      invalidRequest("invalid_value", `${path} must be one of ${values.join(", ")}`, path),
    );
    return null;
  }

  /** An object that is sent unchanged, such as a JSON Schema. */
  whole(name: string): JsonObject | null {
    const value = this.take(name);
    if (value === undefined) return null;
    return isJsonObject(value) ? value : this.#wrongType(name, "an object");
  }

  object(name: string): Members | null {
    const value = this.whole(name);
    return value === null ? null : new Members(value, this.pathOf(name), this.#record);
  }

  /** The items of a list; empty where it is absent. */
  list(name: string): readonly JsonValue[] {
    const value = this.take(name);
    if (value === undefined) return [];
    return Array.isArray(value) ? value : (this.#wrongType(name, "a list") ?? []);
  }

  /** The items of a list of objects, each with its own path. */
  objects(name: string): readonly Members[] {
    return this.list(name).flatMap((item, index) => {
      const path = `${this.pathOf(name)}[${index}]`;
      if (isJsonObject(item)) return [new Members(item, path, this.#record)];
      this.#record.refuseRequest(invalidRequest("invalid_type", `${path} must be an object`, path));
      return [];
    });
  }

  /** The 400 for a member whose value this translation cannot carry. */
  refuseMember(name: string, code: string, rule: string): void {
    const path = this.pathOf(name);
    this.#record.refuseRequest(invalidRequest(code, `${path} ${rule}`, path));
  }

  /** Takes members that may be left out, and records the dropped field where one has a value. */
  drop(names: readonly string[], field: DroppedField): void {
    for (const name of names) if (this.take(name) !== undefined) this.#record.drop(field);
  }

  /** Call when all known members have been read: the others are unknown. */
  close(): void {
    for (const name of Object.keys(this.#object)) {
      const value = this.#object[name];
      if (this.#read.has(name) || value == null) continue;
      if (isEmptyValue(value)) this.#record.drop("empty_member_dropped");
      else this.#record.unknown(this.pathOf(name));
    }
  }

  #wrongType(name: string, expected: string): null {
    const path = this.pathOf(name);
    this.#record.refuseRequest(invalidRequest("invalid_type", `${path} must be ${expected}`, path));
    return null;
  }
}

/**
 * Takes members out of a body that are not translated. Identity members and those that a policy
 * takes out are recorded. On a route that forwards unknown members, those are returned, for
 * endpoints of the surface's own protocol.
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
  // Without a prototype, so that a member `__proto__` is sent as a member.
  const extras: Record<string, JsonMember> = Object.create(null);
  const stripFields: readonly string[] = edits.stripFields;
  for (const name of unknownFields(registry, body)) {
    if (stripFields.includes(name)) continue;
    const value = members.take(name);
    if (value !== undefined) extras[name] = value;
  }
  return extras;
}

/** The 400 of an endpoint of another protocol for forwarded members; `null` if there are none. */
export function refuseExtras(extras: JsonObject): ServiceError | null {
  const record = new TranslationRecord();
  new Members(extras, "", record).close();
  return record.result("forward");
}

function strip(members: Members, name: string): void {
  if (members.take(name) !== undefined) members.record.strip(name);
}

const NONE: JsonObject = Object.freeze(Object.create(null));
