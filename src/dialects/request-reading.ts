import type { Capability } from "../canon/capability.ts";
import type { ServiceError } from "../canon/error.ts";
import type { Feature } from "../canon/generate/feature.ts";
import type { DroppedField } from "../canon/generate/dropped-field.ts";
import type { JsonObject } from "../canon/json.ts";
import { saysNothing, shownName } from "./fields.ts";

/**
 * What one walk over a body finds besides canon: what the body requires of models and of wire protocols, and what canon leaves out of it. The walk is
 * made for every request; for a request that is translated it is made again, with the checks that only a translation needs.
 */
export class RequestReading {
  readonly #needs = new Set<Capability>();
  readonly #features = new Set<Feature>();
  readonly #families = new Set<string>();
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
    this.#families.add(family);
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

  has(word: Capability | Feature): boolean {
    return this.paths.has(word);
  }

  get needs(): readonly Capability[] {
    return [...this.#needs].toSorted();
  }

  get features(): readonly Feature[] {
    return [...this.#features].toSorted();
  }

  get signatureFamilies(): readonly string[] {
    return [...this.#families].toSorted();
  }
}
