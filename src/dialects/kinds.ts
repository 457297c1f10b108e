import type { Capability } from "../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import { isJsonObject, type JsonMember, type JsonObject, type JsonValue } from "../canon/json.ts";
import { ownValue } from "./json.ts";
import {
  isEmptyValue,
  shownName,
  type FieldRegistry,
  type RequestReading,
} from "./request-reading.ts";

/** Capability that a value of this `type` needs; `null` where it only carries content. */
export type TypeNeeds = Readonly<Record<string, Capability | null>>;

/**
 * Values of one protocol that mean the same anywhere in a body
 * (docs/decisions/0041-native-bodies-are-read-by-kind.md).
 */
export interface Kinds {
  /**
   * Capability of a type of tools, empty where the definition has none; `null` for an unknown one.
   */
  readonly toolNeeds: (type: string, definition: JsonObject) => Capability | null;
  /** Types of all other objects. */
  readonly types: TypeNeeds;
  /** The known types of tools, as an error names them. */
  readonly toolTypes: readonly string[];
  /** Beginning of the types of tools whose settings name a model that the provider calls. */
  readonly modelTools?: string;
  /** Code of the error for an unknown type of another object. */
  readonly unknownType: "unknown_content_part" | "unknown_item_type";
}

/** The 400 for a definition of a tool that cannot be approved. */
function unknownTool({ toolTypes, modelTools }: Kinds, type: string, path: string): ServiceError {
  if (modelTools !== undefined && type.startsWith(modelTools)) return otherModel(path);
  return invalidRequest(
    "unknown_tool_type",
    `${path} must be one of ${toolTypes.join(", ")}`,
    path,
  );
}

/** Members that hold definitions of tools. */
const DEFINITIONS = ["tools", "definition"];

/** Members whose content is the caller's own JSON, or a record of an earlier answer. */
const OPAQUE = [
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
];

/**
 * Records of an earlier answer: no provider fetches or calls anything because of the names in them.
 */
const RECORDS = [
  "bash_code_execution_output",
  "code_execution_output",
  "code_interpreter_call",
  "fallback",
  "file_search_call",
  "image_generation_call",
  "mcp_list_tools",
  "mcp_tool_listing",
];

/**
 * Members that need a capability wherever they have a value that does not turn them off. Those of
 * other vendors: OpenRouter (`plugins`, `reasoning`), xAI (`search_parameters`), Groq
 * (`search_settings`), Alibaba Cloud (`enable_search`, `thinking_budget`), vLLM
 * (`chat_template_kwargs.enable_thinking`, `thinking_token_budget`), llama.cpp
 * (`reasoning_budget`), Google (`thinking_level`), Azure (`data_sources`).
 */
const NAME_NEEDS: Readonly<Record<string, Capability>> = {
  effort: "reasoning",
  reasoning_effort: "reasoning",
  enable_thinking: "reasoning",
  thinking: "reasoning",
  thinking_budget: "reasoning",
  thinking_level: "reasoning",
  thinking_token_budget: "reasoning",
  reasoning_budget: "reasoning",
  reasoning: "reasoning",
  plugins: "web_search",
  web_search_options: "web_search",
  search_parameters: "web_search",
  search_settings: "web_search",
  enable_search: "web_search",
  data_sources: "file_search",
  mcp_servers: "mcp",
  functions: "tools",
};

/**
 * Members that let the provider choose among models: its own, OpenRouter's (`models`, `preset`) and
 * LiteLLM's.
 */
const OTHER_MODELS = [
  "model",
  "models",
  "preset",
  "fallbacks",
  "fallback_model",
  "fallback_models",
  "context_window_fallbacks",
  "content_policy_fallbacks",
];

const KEPT_ANSWER = "would make the provider keep the answer; leave it out";

/**
 * Members that refer to content or machines kept at a provider, or have it keep some, with the fix
 * for each. xAI: `deferred`.
 */
const STORED: Readonly<Record<string, string>> = {
  background: KEPT_ANSWER,
  conversation: "names a conversation kept at the provider; send the messages themselves",
  deferred: KEPT_ANSWER,
  store: KEPT_ANSWER,
  thread: "would make the provider keep the conversation; send the messages themselves",
  "audio.id": "names a sound kept at the provider; send its transcript as content",
  cached_content: "names content kept at the provider; send the content itself",
  comparison_response_id: "names an answer kept at the provider; leave it out",
  "container.id": "names a container kept at the provider; let the tool make one",
  container: "names a container kept at the provider; let the tool make one, or leave it out",
  container_id: "names a container kept at the provider; let the tool make one",
  file_id: "names a file kept at the provider; send the file itself",
  file_ids: "names files kept at the provider; send the files themselves",
  previous_response_id: "names an answer kept at the provider; send the messages themselves",
  skill_id:
    "names a skill kept at the provider; send the skill itself, where the tool takes it inline",
  vector_store_ids: "names documents kept at the provider; send what they hold",
};

/**
 * Reads a body by kind, at any depth: tools, efforts, references to stored content and names of
 * models need the same approvals, or are refused alike, in positions that the protocol's walk does
 * not read. A member that the registry lacks is always read, the others where the body holds
 * something beyond canon. A refusal within an unknown member counts only where the route forwards
 * it.
 */
export function readKinds(
  body: JsonObject,
  registry: FieldRegistry,
  kinds: Kinds,
  reading: RequestReading,
  isNative = reading.has(reading.native),
): void {
  for (const name in body) {
    const isKnown = Object.hasOwn(registry, name);
    if (isNative || !isKnown) new KindsWalk(kinds, reading, isKnown).member(body, name, "");
  }
}

class KindsWalk {
  readonly #kinds: Kinds;
  readonly #reading: RequestReading;
  /** Whether the body's member is one of the protocol's own, with a reading of its own. */
  readonly #isKnown: boolean;
  /** Names and indices from the body to the value; printed only where a path is needed. */
  readonly #path: (string | number)[] = [];

  constructor(kinds: Kinds, reading: RequestReading, isKnown: boolean) {
    this.#kinds = kinds;
    this.#reading = reading;
    this.#isKnown = isKnown;
  }

  /**
   * @param owner `type` of the nearest object around the member that has one; empty in the body
   * itself.
   */
  member(object: JsonObject, name: string, owner: string): void {
    const value = object[name];
    if (value == null || OPAQUE.includes(name)) return;
    const isNested = this.#path.length > 0;
    // A call's own input; at the top it is the conversation.
    if (name === "input" && isNested) return;
    this.#path.push(name);
    if (typeof value === "object") this.#value(value, owner, DEFINITIONS.includes(name));
    else if (name === "tools") this.#refuseKind(unknownTool(this.#kinds, "?", this.#print()));
    if ((isNested || !this.#isKnown) && !RECORDS.includes(owner)) this.#name(name, value);
    this.#path.pop();
  }

  #value(value: JsonValue, owner: string, isDefinition: boolean) {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        this.#path.push(index);
        const item: JsonMember = value[index];
        if (typeof item === "object" && item !== null) this.#value(item, owner, isDefinition);
        else if (isDefinition) this.#refuseKind(unknownTool(this.#kinds, "?", this.#print()));
        this.#path.pop();
      }
    } else if (isJsonObject(value)) {
      const { type = null } = value;
      if (typeof type === "string") this.#type(type, value, isDefinition);
      else if (isDefinition && !RECORDS.includes(owner))
        this.#type(type === null ? "" : "?", value, isDefinition);
      for (const name in value) this.member(value, name, typeof type === "string" ? type : owner);
    }
  }

  #type(type: string, value: JsonObject, isDefinition: boolean) {
    const { toolNeeds, types, unknownType } = this.#kinds;
    const typeNeeds = ownValue(types, type);
    // A name of one protocol's tools may be that of another object, such as `custom`.
    const needs = isDefinition || typeNeeds === undefined ? toolNeeds(type, value) : typeNeeds;
    if (needs !== null) this.#reading.need(needs, this.#print("type"));
    else if (isDefinition) this.#refuseKind(unknownTool(this.#kinds, type, this.#print("type")));
    else if (typeNeeds === undefined && this.#isKnown)
      this.#reading.noteUnknownKind(
        unknownType,
        this.#print("type"),
        "is not a type that this router supports",
      );
  }

  /** A member that means the same in every object. */
  #name(name: string, value: JsonValue) {
    const needs = ownValue(NAME_NEEDS, name);
    if (needs !== undefined && !isDisabled(value) && !this.#isContent(name, value))
      this.#reading.need(needs, this.#print());
    const parent = this.#path.at(-2);
    if (parent === "reasoning" && name === "mode" && value !== "standard")
      this.#reading.need("reasoning", this.#print());
    if (OTHER_MODELS.includes(name) && !isEmptyValue(value) && !this.#isOwnModeration(value)) {
      this.#refuseKind(otherModel(this.#print()));
    }
    const stored = name === "id" ? `${parent}.id` : name;
    if (!Object.hasOwn(STORED, stored) || (isJsonObject(value) && name === "container")) return;
    if (value === false || (Array.isArray(value) && value.length === 0)) return;
    // A generated image has a setting of this name.
    if (name === "background" && typeof value === "string") return;
    this.#refuseKind(storedState(this.#print(), STORED[stored] ?? ""));
  }

  /** Reasoning of earlier answers has the same names as its settings. */
  #isContent(name: string, value: JsonValue): boolean {
    if (name === "thinking") return typeof value === "string" || Array.isArray(value);
    return name === "reasoning" && this.#path.length > 1;
  }

  #refuseKind(error: ServiceError) {
    if (this.#isKnown) this.#reading.refuseRequest(error);
    else this.#reading.unforwardable ??= error;
  }

  /**
   * The model is OpenAI's own check of a text (`moderation.model` of its SDK): it sees the text as
   * the provider does, and writes nothing.
   */
  #isOwnModeration(model: JsonValue): boolean {
    const isOpenAiModel = typeof model === "string" && model.startsWith("omni-moderation-");
    return isOpenAiModel && this.#path.length === 2 && this.#path[0] === "moderation";
  }

  #print(...more: readonly string[]): string {
    const printed = [...this.#path, ...more].map((step) =>
      typeof step === "number" ? `[${step}]` : `.${shownName(step)}`,
    );
    return printed.join("").slice(1);
  }
}

/** Whether the value of a setting turns it off, in any vendor's way. */
function isDisabled(value: JsonValue): boolean {
  if (!isJsonObject(value))
    return value === false || value === 0 || value === "none" || isEmptyValue(value);
  return value.type === "disabled" || value.enabled === false || value.effort === "none";
}

/** The 400 for a member that refers to stored content, or creates some. */
export function storedState(param: string, sentence: string): ServiceError {
  return invalidRequest("unsupported_stateful_feature", `${param} ${sentence}`, param);
}

/** The 400 for a model that the provider would call beside the route's. */
function otherModel(param: string) {
  return invalidRequest(
    "unsupported_routing_field",
    `${param} lets the provider call another model: routes.yaml defines which models may get a request`,
    param,
  );
}
