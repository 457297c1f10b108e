import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";

/** Members of a schema whose value is data and no schema. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"]);

/**
 * Gathers the schemas that have a title under it, and puts a reference where each stood: a reader finds a type once, and generated clients name it.
 *
 * @throws {Error} where two different schemas have one title; that is a bug of ours.
 */
export class SchemaComponents {
  readonly #schemas = new Map<string, JsonObject>();
  /** What a title stood for, before its own parts were taken out. */
  readonly #originals = new Map<string, JsonObject>();

  /** By title, in the order of their names. */
  get schemas(): JsonObject {
    return Object.fromEntries([...this.#schemas].toSorted(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** The schema with references for all of its parts that have a title, itself included. */
  refer(schema: JsonObject): JsonObject {
    const { title } = schema;
    if (typeof title !== "string") return this.#members(schema);
    const known = this.#originals.get(title);
    if (known === undefined) {
      this.#originals.set(title, schema);
      this.#schemas.set(title, this.#members(schema));
    } else if (known !== schema && canonicalJson(known) !== canonicalJson(schema)) {
      throw new Error(`contract: two schemas have the title ${title}`);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #members(schema: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#member(keyword, value)]),
    );
  }

  #member(keyword: string, value: JsonValue | undefined): JsonValue | undefined {
    if (DATA.has(keyword)) return value;
    if (keyword === "properties" && isJsonObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, isJsonObject(member) ? this.refer(member) : member]),
      );
    }
    if (Array.isArray(value)) {
      const items: readonly JsonValue[] = value;
      return items.map((item) => (isJsonObject(item) ? this.refer(item) : item));
    }
    return isJsonObject(value) ? this.refer(value) : value;
  }
}
