import type { Capability } from "../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { Feature } from "../canon/generate/feature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../canon/json.ts";
import { type RequestReading, shownName } from "./fields.ts";

/** Capability that a value of this `type` needs; `null` where it only carries content. */
export type TypeNeeds = Readonly<Record<string, Capability | null>>;

/** Values of one protocol that mean the same wherever they stand in a body (docs/decisions/0041-native-bodies-are-read-by-kind.md). */
export interface Kinds {
  /** The feature of what only this protocol has: a body without it holds nothing that canon does not, and is not read again. */
  readonly native: Feature;
  /** Capability of a type of tools; `null` for an unknown one. */
  readonly toolNeeds: (type: string) => Capability | null;
  /** Types of all other objects. */
  readonly types: TypeNeeds;
  readonly unknownTool: (type: string, path: string) => ServiceError;
  readonly unknownType: (path: string) => ServiceError;
}

/** Members that hold definitions of tools. */
const DEFINITIONS: ReadonlySet<string> = new Set(["tools", "definition"]);

/** Members whose content is the caller's own JSON, or a record of an earlier answer. */
const OPAQUE: ReadonlySet<string> = new Set([
  "annotations",
  "arguments",
  "attributes",
  "citations",
  "client_metadata",
  "env",
  "extra_content",
  "headers",
  "input_examples",
  "input_schema",
  "json_schema",
  "logit_bias",
  "logprobs",
  "metadata",
  "output_schema",
  "parameters",
  "provider",
  "reasoning_details",
  "schema",
]);

/** Objects that record what an earlier answer did: the names in them make no provider fetch or call anything. */
const RECORDS: ReadonlySet<string> = new Set([
  "bash_code_execution_output",
  "code_execution_output",
  "code_interpreter_call",
  "fallback",
  "file_search_call",
  "image_generation_call",
]);

/** Members that name content or machines kept at a provider, and what to do instead. */
const STORED: Readonly<Record<string, string>> = {
  container: "names a container kept at the provider; let the tool make one, or leave it out",
  container_id: "names a container kept at the provider; let the tool make one",
  file_id: "names a file kept at the provider; send the file itself",
  file_ids: "names files kept at the provider; send the files themselves",
  skill_id: "names a skill kept at the provider; send the skill itself, where the tool takes it inline",
  vector_store_ids: "names documents kept at the provider; send what they hold",
};

/**
 * Reads a body by kind, at any depth: tools, efforts, references to stored content and names of models need the same approvals, or are refused alike, in a
 * position that the walk of the protocol does not know. Only a body that holds something beyond canon is read.
 */
export function readKinds(body: JsonObject, kinds: Kinds, reading: RequestReading): void {
  if (reading.has(kinds.native)) new KindsWalk(kinds, reading).members(body, "");
}

class KindsWalk {
  readonly #kinds: Kinds;
  readonly #reading: RequestReading;
  /** Names and indices from the body to the value; printed only where a path is needed. */
  readonly #path: (string | number)[] = [];

  constructor(kinds: Kinds, reading: RequestReading) {
    this.#kinds = kinds;
    this.#reading = reading;
  }

  /** @param owner `type` of the nearest object around these members that has one; empty in the body itself. */
  members(object: JsonObject, owner: string): void {
    for (const name in object) {
      const value = object[name];
      if (value === null || value === undefined || OPAQUE.has(name)) continue;
      // A call's own input; at the top it is the conversation.
      if (name === "input" && this.#path.length > 0) continue;
      this.#path.push(name);
      if (typeof value === "object") this.#value(value, owner, DEFINITIONS.has(name));
      if (!RECORDS.has(owner)) this.#name(name, value);
      this.#path.pop();
    }
  }

  #value(value: JsonValue, owner: string, isDefinition: boolean): void {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        this.#path.push(index);
        const item: JsonValue | undefined = value[index];
        if (typeof item === "object" && item !== null) this.#value(item, owner, isDefinition);
        this.#path.pop();
      }
    } else if (isJsonObject(value)) {
      const { type } = value;
      if (typeof type === "string") this.#type(type, isDefinition);
      this.members(value, typeof type === "string" ? type : owner);
    }
  }

  #type(type: string, isDefinition: boolean): void {
    const { toolNeeds, types, unknownTool, unknownType } = this.#kinds;
    const known = Object.hasOwn(types, type) ? (types[type] ?? null) : undefined;
    // A name of one protocol's tools may be that of another object, such as `custom`.
    const needs = isDefinition ? (toolNeeds(type) ?? known) : known === undefined ? toolNeeds(type) : known;
    if (needs !== null && needs !== undefined) this.#reading.need(needs, this.#print("type"));
    else if (known === null) return;
    else if (isDefinition) this.#reading.refuse(unknownTool(type, this.#print("type")));
    else this.#reading.unknownKind ??= unknownType(this.#print("type"));
  }

  /** A member that means the same in every object. */
  #name(name: string, value: JsonValue): void {
    if (name === "effort" && typeof value === "string" && value !== "none")
      this.#reading.need("reasoning", this.#print());
    // The body's own model is a route's name.
    if (name === "model" && typeof value === "string" && this.#path.length > 1 && !this.#isOwnModeration(value))
      this.#reading.refuse(otherModel(this.#print()));
    if (!Object.hasOwn(STORED, name) || (isJsonObject(value) && name === "container")) return;
    if (Array.isArray(value) && value.length === 0) return;
    this.#reading.refuse(storedState(this.#print(), STORED[name] ?? ""));
  }

  /** The model is OpenAI's own check of a text (`moderation.model` of its SDK): it sees the text as the provider does, and writes nothing. */
  #isOwnModeration(model: string): boolean {
    return this.#path.length === 2 && this.#path[0] === "moderation" && model.startsWith("omni-moderation-");
  }

  #print(...more: readonly string[]): string {
    const printed = [...this.#path, ...more].map((step) =>
      typeof step === "number" ? `[${step}]` : `.${shownName(step)}`,
    );
    return printed.join("").slice(1);
  }
}

/** The 400 for what names, or makes, something that a provider keeps. */
export function storedState(param: string, sentence: string): ServiceError {
  return invalidRequest("unsupported_stateful_feature", `${param} ${sentence}`, param);
}

/** The 400 for a model that the provider would call beside the route's. */
export function otherModel(param: string): ServiceError {
  const sentence = `${param} lets the provider call another model: routes.yaml defines which models may get a request`;
  return invalidRequest("unsupported_routing_field", sentence, param);
}
