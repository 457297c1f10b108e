import type { Capability } from "../canon/capability.ts";
import type { Feature } from "../canon/generate/feature.ts";

/** What a body asks of models and of wire protocols, gathered while a surface reads it. On the path of every request: no allocation per question. */
export class Asked {
  readonly #needs = new Set<Capability>();
  readonly #features = new Set<Feature>();
  readonly #families = new Set<string>();
  /** Capability or feature → path of the member that first asked for it. */
  readonly paths = new Map<Capability | Feature, string>();

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
