import type { Capability, Feature } from "../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../canon/json.ts";
import { nearestName } from "../canon/nearest-name.ts";
import { tokenBucket, type InferenceRequest, type RequestShape } from "../canon/request.ts";
import type { RouteRow, UnknownFields } from "../canon/table.ts";
import { parsePreferences } from "./body-reader.ts";
import type { RequestReader } from "./dialect.ts";
import {
  MAXIMUM_DEPTH,
  isDeeperThan,
  mapObjects,
  ownValue,
  parseExactJsonText,
  textOf,
  withMember,
} from "./json.ts";

/**
 * The class of a member of a request (docs/protocols.md#classes-of-request-members). `core`: shapes
 * the answer; `capability`: requires something that a route and a workspace must approve; `region`:
 * restricts where content may be processed, which the routing table decides; `state`: requests that
 * content is stored, refused unless its value turns that off; `egress`: lets a provider call other
 * servers; `identity`: identifies the caller's user, taken out before the request leaves; `hint`:
 * may help, may be ignored by a provider; `ours`: read by the router, never sent.
 */
type FieldClass =
  | "core"
  | "capability"
  | "region"
  | "state"
  | "egress"
  | "identity"
  | "hint"
  | "ours";

interface FieldFacts {
  /** Default: `core`. */
  readonly class?: FieldClass;
  /**
   * The capability that the member needs when it has a value; finer rules stand in the dialect's
   * parser.
   */
  readonly needs?: Capability;
  /**
   * The feature that the member uses when it has a value; finer rules stand in the dialect's
   * parser.
   */
  readonly uses?: Feature;
}

export type FieldRegistry = Readonly<Record<string, FieldFacts>>;

/** Members of each class that need nothing and use no feature. */
export const CORE: FieldFacts = { class: "core" };
export const HINT: FieldFacts = { class: "hint" };
export const IDENTITY: FieldFacts = { class: "identity" };
export const ROUTER: FieldFacts = { class: "ours" };
export const STATE: FieldFacts = { class: "state" };

/** Of all three protocols of the OpenAI family. */
export const SAMPLING_FIELDS: FieldRegistry = {
  temperature: { uses: "sampling" },
  top_p: { uses: "sampling" },
  frequency_penalty: CORE,
  presence_penalty: CORE,
  user: IDENTITY,
};

/** Of chat completions and responses. */
export const CONVERSATION_FIELDS: FieldRegistry = {
  ...SAMPLING_FIELDS,
  parallel_tool_calls: CORE,
  top_logprobs: CORE,
  service_tier: HINT,
  prompt_cache_key: HINT,
  prompt_cache_retention: HINT,
  prompt_cache_options: HINT,
  metadata: IDENTITY,
  safety_identifier: IDENTITY,
};

/**
 * Whether a value means the same as its absence: null, an empty list, or an object that holds
 * nothing but such members. Client libraries that know the members of many vendors send back what
 * they made of an answer (LiteLLM: `provider_specific_fields: {"refusal": null}`).
 */
export function isEmptyValue(value: JsonMember): boolean {
  if (value == null) return true;
  if (!isJsonObject(value)) return Array.isArray(value) && value.length === 0;
  let isEmpty = true;
  for (const name in value) {
    if (!isEmptyValue(value[name])) return false;
    isEmpty = false;
  }
  return !isEmpty;
}

/**
 * Copies that client libraries parse out of a text and send back beside it, and members that may be
 * the text.
 */
const PARSED_COPIES: Readonly<Partial<Record<string, readonly string[]>>> = {
  // openai and openai-node: calls of strict functions; parsed messages and their texts.
  parsed_arguments: ["arguments"],
  parsed: ["text", "content"],
  // anthropic and @anthropic-ai/sdk: texts of `messages.parse`.
  parsed_output: ["text"],
};

/**
 * Whether a member repeats another one: the role of its message, or the JSON of a text beside it.
 */
function repeats(object: JsonObject, name: string, role: JsonValue): boolean {
  const value = object[name];
  if (name === "role") return value === role;
  const sources = ownValue(PARSED_COPIES, name);
  return sources?.some((source) => isParsedFrom(object[source], value)) === true;
}

function isParsedFrom(text: JsonMember, copy: JsonMember): boolean {
  const parsed = typeof text === "string" ? parseExactJsonText(text) : undefined;
  if (parsed === undefined || isDeeperThan(parsed, MAXIMUM_DEPTH)) return false;
  return canonicalJson(parsed) === canonicalJson(copy);
}

/** Replaced members by object; `undefined` removes one. */
type MemberChanges = Map<JsonObject, Map<string, JsonMember>>;

/** The object with changed members at any depth; the object itself where nothing in it changes. */
function withChanges(object: JsonObject, changes: MemberChanges): JsonObject {
  let changed = object;
  for (const name in object)
    changed = withMember(changed, name, (value) =>
      isJsonObject(value)
        ? withChanges(value, changes)
        : mapObjects(value, (item) => withChanges(item, changes)),
    );
  for (const [name, value] of changes.get(object) ?? []) {
    const { [name]: _removed, ...rest } = changed;
    changed = value === undefined ? rest : withMember(changed, name, () => value);
  }
  return changed;
}

/** Whether an object has an unknown member with a value. */
export function hasUnknownMember(object: JsonObject, knownNames: readonly string[]): boolean {
  for (const name in object)
    if (!knownNames.includes(name) && !isEmptyValue(object[name])) return true;
  return false;
}

/** A member's name for an error message; `*` for caller's text that is no plausible name. */
export function shownName(name: string): string {
  return /^[A-Za-z_$][\w$-]{0,63}$/.test(name) ? name : "*";
}

/**
 * Refuses unknown members with a 400, unless the route strips or forwards them. Only plausible
 * names are quoted.
 *
 * @param protocol name of the surface in the message, such as `responses`.
 */
export function refusingUnknown(
  registry: FieldRegistry,
  protocol: string,
): RequestReader["refuseUnknown"] {
  return (body, mode) => {
    if (mode !== "reject") return null;
    const name = unknownMember(body, registry);
    if (name === null) return null;
    if (shownName(name) === "*") {
      return invalidRequest(
        "unknown_field",
        `The request has a member that ${protocol} requests do not have`,
      );
    }
    const near = nearestName(name, Object.keys(registry));
    const hint = near === null ? "" : `; did you mean ${near}?`;
    return invalidRequest("unknown_field", `Unknown field ${name}${hint}`, name);
  };
}

/** The first member with a value that is not in the registry. */
function unknownMember(body: JsonObject, registry: FieldRegistry): string | null {
  for (const name in body)
    if (!Object.hasOwn(registry, name) && !isEmptyValue(body[name])) return name;
  return null;
}

/**
 * Bytes of JSON per token, on average, in English text; only the context bucket is made from it.
 */
const BYTES_PER_TOKEN = 4;

/**
 * Findings of one walk over a body beside the canonical request: required capabilities and
 * features, and fields that canon cannot hold. Every request is walked once; a translated one
 * again, with the checks that only a translation needs.
 */
export class RequestReading {
  /** Few of each: a set for every request would cost more than it finds. */
  readonly needs: Capability[] = [];
  readonly features: Feature[] = [];
  /** Families whose signed reasoning the history holds. */
  readonly signatureFamilies: string[] = [];
  #changes: MemberChanges | null = null;
  readonly #replaced: DroppedField[] = [];
  /** Id → its calls so far that have no result. */
  readonly #calls = new Map<string, number>();
  /** Capability or feature → path of the member that first required it. */
  readonly paths = new Map<Capability | Feature, string>();
  /** Fields that canon does not hold. */
  readonly dropped = new Set<DroppedField>();
  /** The first refusal; `null` where there is none. */
  refusal: ServiceError | null = null;
  /**
   * The 400 for the first item, block or part of a type that the protocol's table does not have; a
   * route that forwards unknown fields takes it.
   */
  unknownKind: ServiceError | null = null;
  /**
   * The 400 for the content of an unknown member, on routes that forward it; other routes never
   * send it.
   */
  unforwardable: ServiceError | null = null;
  /** The feature for everything that only the surface's protocol has. */
  readonly native: Feature;
  /** Treatment of unknown members in a translation; `null` before the decision. */
  readonly mode: UnknownFields | null;
  /** Registered names of members that were taken out; `unknown_field` for all others. */
  readonly stripped: string[] = [];
  /** Version of the protocol that the caller speaks; `null` where it has none. */
  version: string | null = null;

  constructor(native: Feature, mode: UnknownFields | null = null) {
    this.native = native;
    this.mode = mode;
  }

  /** The body is going to an endpoint of another protocol. */
  get forTranslation(): boolean {
    return this.mode !== null;
  }

  strip(name: string): void {
    if (!this.stripped.includes(name)) this.stripped.push(name);
  }

  /** An unknown member of a translated body: recorded where the route strips it, else refused. */
  unknown(path: string): void {
    if (this.mode === "strip") this.strip("unknown_field");
    else this.refuseRequest(untranslatable(path, this.mode));
  }

  need(capability: Capability, path: string): void {
    if (this.needs.includes(capability)) return;
    this.needs.push(capability);
    this.paths.set(capability, path);
  }

  use(feature: Feature, path: string): void {
    if (this.features.includes(feature)) return;
    this.features.push(feature);
    this.paths.set(feature, path);
  }

  /** Notes something that only the surface's own protocol has. */
  useNative(path: string): void {
    this.use(this.native, path);
  }

  /** The history holds reasoning that only this family can read. */
  signed(family: string, path: string): void {
    if (!this.signatureFamilies.includes(family)) this.signatureFamilies.push(family);
    this.use("signed_reasoning", path);
  }

  /** Notes a call of the history, which one later result may answer. */
  noteCall(id: string): void {
    if (this.forTranslation) this.#calls.set(id, (this.#calls.get(id) ?? 0) + 1);
  }

  /**
   * Notes a result. One that answers no call, or a call that has a result, every other protocol
   * refuses. @param path of the call's id.
   */
  noteResult(id: string, path: string): void {
    if (!this.forTranslation) return;
    const calls = this.#calls.get(id) ?? 0;
    this.#calls.set(id, calls - 1);
    if (calls > 0) return;
    this.refuseMember(
      "unknown_tool_call",
      path,
      "must name a tool call that stands before it and has no other result; send the call too, or leave the result out",
    );
  }

  /** Only the first error is kept: it is the one that the caller gets. */
  refuseRequest(error: ServiceError): void {
    this.refusal ??= error;
  }

  /** Refuses the member at a path. @param rule the rest of the sentence that begins with it. */
  refuseMember(code: string, path: string, rule: string): void {
    this.refuseRequest(invalidRequest(code, `${path} ${rule}`, path));
  }

  /** The first item, block or part of an unknown type. @param path of its `type`. */
  noteUnknownKind(code: string, path: string, rule: string): void {
    this.unknownKind ??= invalidRequest(code, `${path} ${rule}`, path);
  }

  /** The first unknown member with a value; `null` where there is none. */
  unknownIn(object: JsonObject, knownNames: readonly string[], role?: JsonValue): string | null {
    let unknown: string | null = null;
    for (const name in object) {
      if (knownNames.includes(name)) continue;
      const value = object[name];
      if (value == null) continue;
      const isEmpty = isEmptyValue(value);
      if (!isEmpty && (role === undefined || !repeats(object, name, role))) {
        unknown ??= name;
      } else if (role === undefined) {
        this.dropped.add("empty_member_dropped");
      } else {
        this.replace(
          object,
          name,
          undefined,
          isEmpty ? "empty_member_dropped" : "repeated_member_dropped",
        );
      }
    }
    return unknown;
  }

  /**
   * Notes the protocol itself where the object holds a member that is not among `knownNames`. The
   * caller reads the rest of the object all the same: its features choose endpoints.
   *
   * @param role of the message that holds the object, for objects of the history: empty and
   *   repeated members are removed there, for providers of the same protocol too, which refuse them
   *   as unknown (OpenAI, Anthropic, Mistral).
   */
  useUnknown(
    object: JsonObject,
    knownNames: readonly string[],
    path: string,
    role?: JsonValue,
  ): void {
    const name = this.unknownIn(object, knownNames, role);
    if (name !== null) this.useNative(`${path}.${shownName(name)}`);
  }

  /**
   * Replaces a member of the history, for providers of every protocol. @param value `undefined`
   * removes it.
   */
  replace(object: JsonObject, name: string, value: JsonMember, field: DroppedField): void {
    this.dropped.add(field);
    const changes = (this.#changes ??= new Map());
    const changed = changes.get(object) ?? new Map<string, JsonMember>();
    changes.set(object, changed.set(name, value));
    if (!this.#replaced.includes(field)) this.#replaced.push(field);
  }

  /** The request with the changes of `replace`. */
  applied(request: InferenceRequest): InferenceRequest {
    if (this.#changes === null) return request;
    return {
      ...request,
      body: withChanges(request.body, this.#changes),
      dropped: this.#replaced,
    };
  }

  /**
   * Notes the capabilities and features that top-level members with a value require. A number too
   * large for a double is refused by name.
   */
  noteFields(body: JsonObject, registry: FieldRegistry): void {
    for (const name in body) {
      const value = body[name];
      if (value == null || value === false) continue;
      const facts = ownValue(registry, name);
      if (facts === undefined) continue;
      if (typeof value === "object" && JSON.isRawJSON(value)) {
        this.refuseMember("invalid_type", name, "must not be a number of this size");
      }
      if (Array.isArray(value) && value.length === 0) continue;
      if (facts.needs !== undefined) this.need(facts.needs, name);
      if (facts.uses !== undefined) this.use(facts.uses, name);
    }
  }

  has(name: Capability | Feature): boolean {
    return this.paths.has(name);
  }
}

/** The 400 for a member that canon does not hold. */
export function untranslatable(path: string, mode: UnknownFields | null): ServiceError {
  const sentence =
    mode === "forward"
      ? `${path} cannot be forwarded: an endpoint that may get the request speaks another protocol`
      : `${path} cannot be translated for an endpoint of another protocol that may get the request`;
  return invalidRequest("unknown_field", sentence, path);
}

/** Not frozen: the engine serialises a record with a frozen list in twice the time. */
const NOTHING: readonly never[] = [];

function sorted<Name extends string>(names: readonly Name[]): readonly Name[] {
  return names.length === 0 ? NOTHING : names.toSorted();
}

/** Facts that the surface adds to its reading. */
interface ParsedBody extends Pick<
  InferenceRequest,
  "body" | "headers" | "reader" | "includeUsage"
> {
  readonly operation: RequestShape["operation"];
  readonly stream: boolean;
  /** Tokens; `null` where the body sets no limit. */
  readonly maxOutputTokens: number | null;
  readonly effort: RequestShape["reasoningEffort"];
  /** Size of the body. */
  readonly bytes: number;
  /** Requested length of vectors; `null` where unspecified. */
  readonly dimensions: number | null;
}

/** Defaults for generation and vectors. */
export const UNSPECIFIED = {
  stream: false,
  maxOutputTokens: null,
  effort: "unspecified",
  includeUsage: false,
  dimensions: null,
} as const satisfies Partial<ParsedBody>;

/** Requirements, size and preferences of a body; or the first refusal of the reading. */
export function inferenceRequest(
  reading: RequestReading,
  parsed: ParsedBody,
): InferenceRequest | ServiceError {
  if (reading.refusal !== null) return reading.refusal;
  const { body, headers, reader, includeUsage } = parsed;
  const { model } = body;
  return reading.applied({
    model: textOf(model),
    shape: {
      operation: parsed.operation,
      needs: sorted(reading.needs),
      features: sorted(reading.features),
      stream: parsed.stream,
      context: tokenBucket(parsed.bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(parsed.maxOutputTokens ?? undefined),
      reasoningEffort: parsed.effort,
      signatureFamilies: sorted(reading.signatureFamilies),
      dimensions: parsed.dimensions,
    },
    preferences: parsePreferences(body.provider),
    paths: reading.paths,
    headers,
    body,
    reader,
    includeUsage,
    unknownKind: reading.unknownKind,
    unforwardable: reading.unforwardable,
  });
}

/**
 * The 400 for content that the route does not relay. @param route `undefined` where the caller sees
 * none.
 */
export function refusedKind(
  request: InferenceRequest,
  route: RouteRow | undefined,
): ServiceError | null {
  if (route === undefined) return null;
  const { unforwardable = null, unknownKind = null } = request;
  return route.unknownFields === "forward" ? unforwardable : unknownKind;
}
