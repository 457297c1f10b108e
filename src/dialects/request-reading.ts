import type { Capability } from "../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { DroppedField } from "../canon/generate/dropped-field.ts";
import type { Feature } from "../canon/generate/feature.ts";
import type { JsonObject } from "../canon/json.ts";
import { tokenBucket, type InferenceRequest, type RequestShape } from "../canon/request.ts";
import { saysNothing, shownName, type FieldRegistry } from "./fields.ts";
import { parsePreferences } from "./preferences.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/**
 * What one walk over a body finds besides canon: what the body requires of models and of wire protocols, and what canon leaves out of it. The walk is
 * made for every request; for a request that is translated it is made again, with the checks that only a translation needs.
 */
export class RequestReading {
  readonly #needs = new Set<Capability>();
  readonly #features = new Set<Feature>();
  readonly #families: string[] = [];
  /** Capability or feature → path of the member that first required it. */
  readonly paths = new Map<Capability | Feature, string>();
  /** What canon does not hold. */
  readonly dropped = new Set<DroppedField>();
  /** The first refusal; `null` where there is none. */
  refusal: ServiceError | null = null;
  /** The body is going to an endpoint of another protocol. */
  readonly forTranslation: boolean;

  constructor(forTranslation = false) {
    this.forTranslation = forTranslation;
  }

  need(capability: Capability, path: string): void {
    if (this.#needs.has(capability)) return;
    this.#needs.add(capability);
    this.paths.set(capability, path);
  }

  use(feature: Feature, path: string): void {
    if (this.#features.has(feature)) return;
    this.#features.add(feature);
    this.paths.set(feature, path);
  }

  /** The history holds reasoning that only this family can read. */
  signed(family: string, path: string): void {
    if (!this.#families.includes(family)) this.#families.push(family);
    this.use("signed_reasoning", path);
  }

  /** Only the first error is kept: it is the one that the caller gets. */
  refuse(error: ServiceError): void {
    this.refusal ??= error;
  }

  /**
   * The first member that says something and is not among `known`; `null` where there is none. One that says nothing is dropped.
   */
  unknownIn(object: JsonObject, known: ReadonlySet<string>): string | null {
    let unknown: string | null = null;
    for (const name in object) {
      if (known.has(name)) continue;
      const value = object[name];
      if (value === null || value === undefined) continue;
      if (saysNothing(value)) this.dropped.add("empty_member_dropped");
      else unknown ??= name;
    }
    return unknown;
  }

  /** Notes `feature`, the protocol itself, where the object holds a member that says something and is not among `known`. */
  useUnknown(object: JsonObject, known: ReadonlySet<string>, path: string, feature: Feature): void {
    const name = this.unknownIn(object, known);
    if (name !== null) this.use(feature, `${path}.${shownName(name)}`);
  }

  /** Notes what top-level members require by having a value. A number too large for a double is refused by name. */
  noteFields(body: JsonObject, registry: FieldRegistry): void {
    for (const name in body) {
      const value = body[name];
      if (value === null || value === undefined || value === false) continue;
      const facts = Object.hasOwn(registry, name) ? registry[name] : undefined;
      if (facts === undefined) continue;
      if (typeof value === "object" && JSON.isRawJSON(value)) {
        this.refuse(invalidRequest("invalid_type", `${name} must not be a number of this size`, name));
      }
      if (Array.isArray(value) && value.length === 0) continue;
      if (facts.needs !== undefined) this.need(facts.needs, name);
      if (facts.uses !== undefined) this.use(facts.uses, name);
    }
  }

  has(word: Capability | Feature): boolean {
    return this.paths.has(word);
  }

  get needs(): readonly Capability[] {
    return sorted(this.#needs);
  }

  get features(): readonly Feature[] {
    return sorted(this.#features);
  }

  get signatureFamilies(): readonly string[] {
    return this.#families.length === 0 ? NONE : this.#families.toSorted();
  }
}

const NONE: readonly never[] = Object.freeze([]);

function sorted<Name extends string>(names: ReadonlySet<Name>): readonly Name[] {
  return names.size === 0 ? NONE : [...names].toSorted();
}

/** What a surface adds to a reading of its own body. */
interface ParsedBody extends Pick<InferenceRequest, "body" | "headers" | "reader" | "includeUsage"> {
  readonly operation: RequestShape["operation"];
  readonly stream: boolean;
  /** Tokens; `null` where the body sets no limit. */
  readonly maxOutputTokens: number | null;
  readonly effort: RequestShape["reasoningEffort"];
  /** Size of the body. */
  readonly bytes: number;
  /** Length of the vectors that the body requests; `null` where it does not say. */
  readonly dimensions: number | null;
}

/** What a request says of generation and of vectors where it says nothing. */
export const UNSPECIFIED = {
  stream: false,
  maxOutputTokens: null,
  effort: "unspecified",
  includeUsage: false,
  dimensions: null,
} as const satisfies Partial<ParsedBody>;

/** What a body requires, how large it is, what it prefers; or the first refusal of the reading. */
export function inferenceRequest(reading: RequestReading, parsed: ParsedBody): InferenceRequest | ServiceError {
  if (reading.refusal !== null) return reading.refusal;
  const { body, headers, reader, includeUsage } = parsed;
  const { model } = body;
  return {
    model: typeof model === "string" ? model : "",
    shape: {
      operation: parsed.operation,
      needs: reading.needs,
      features: reading.features,
      stream: parsed.stream,
      context: tokenBucket(parsed.bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(parsed.maxOutputTokens ?? undefined),
      reasoningEffort: parsed.effort,
      signatureFamilies: reading.signatureFamilies,
      dimensions: parsed.dimensions,
    },
    preferences: parsePreferences(body["provider"]),
    paths: reading.paths,
    headers,
    body,
    reader,
    includeUsage,
  };
}
