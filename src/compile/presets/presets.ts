import type { JsonObject } from "../../canon/json.ts";
import presets from "./presets.json" with { type: "json" };

/** A model that a preset's provider serves, as `signalbox init` writes it. */
export interface PresetSample {
  readonly model: string;
  /** The row under `models`. */
  readonly row: JsonObject;
  /** The provider's name of the model. */
  readonly upstream_model?: string;
  /** The same by area, where the name says the region of processing; the endpoint's region is then the area. */
  readonly profiles?: Readonly<Record<string, string>>;
  readonly batch?: JsonObject;
}

/** What is known of a provider's interface: one row of `presets.json`. */
export interface Preset {
  readonly title: string;
  /** Base URL by region; absent where the host carries a name of the account, and `base_url` has to be written. */
  readonly regions?: Readonly<Record<string, string>>;
  /** Such a host, with the names to replace in capitals. */
  readonly address?: string;
  /** The region that such an address shows, or that the page's row declares. */
  readonly region?: string;
  /** Keys of a provider row that do not depend on the region. */
  readonly provider: JsonObject;
  readonly sample: PresetSample;
  /** The provider row of docs/providers.md that says the same, and what is not verified. */
  readonly row: string;
  /** Where address and facts come from. */
  readonly source: string;
  /** Year and month. */
  readonly checked: string;
}

/** By name. `docs/presets.md` lists them. */
export const PRESETS: Readonly<Record<string, Preset>> = presets;

/** Sorted. */
export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS).toSorted();

/** `undefined` for an unknown name. */
export function presetOf(name: string): Preset | undefined {
  return Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
}
