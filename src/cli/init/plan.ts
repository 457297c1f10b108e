import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { suggest } from "../../compile/authored/literal-secrets.ts";
import { type Preset, PRESET_NAMES, presetOf } from "../../compile/presets.ts";
import { UsageError } from "../terminal/command-io.ts";

/** The answers of the user. */
export interface InitAnswers {
  /** Names of presets, each once, in the order of the answer. */
  readonly providers: readonly string[];
  readonly workspace: string;
  /** Regions or areas wanted; none: each provider's widest address. */
  readonly regions: readonly string[];
  /** Whether the providers may train on requests; `null` where no answer was given. */
  readonly trainsOnData: boolean;
}

export interface PlannedProvider {
  readonly id: string;
  readonly preset: string;
  readonly title: string;
  readonly region: string;
  /** Written where the preset has no value. */
  readonly baseUrl: string | null;
  readonly auth: JsonObject | "none";
}

export interface PlannedEndpoint {
  readonly row: JsonObject;
  readonly provider: string;
  readonly model: string;
  readonly region: string;
}

/** Rows of a routes.yaml. */
export interface InitPlan {
  readonly workspace: string;
  readonly trainsOnData: boolean;
  /** Group → regions. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly providers: readonly PlannedProvider[];
  readonly models: ReadonlyMap<string, JsonObject>;
  readonly endpoints: readonly PlannedEndpoint[];
}

/** @throws {UsageError} that names the nearest one. */
export function readPreset(flag: string, name: string): Preset {
  const preset = presetOf(name);
  if (preset !== undefined) return preset;
  throw new UsageError(
    `${flag}: there is no such preset; ${suggest(name, PRESET_NAMES)}; docs/presets.md lists all`,
  );
}

/**
 * @throws {UsageError} that names what there is, for a preset that is not, and for a region where a
 * provider has no address.
 */
export function planInit({
  providers: names,
  workspace,
  regions,
  trainsOnData,
}: InitAnswers): InitPlan {
  const models = new Map<string, JsonObject>();
  const providers: PlannedProvider[] = [];
  const endpoints: PlannedEndpoint[] = [];
  for (const name of names) {
    const preset = readPreset("--providers", name);
    for (const region of regionsFor(name, preset, regions)) {
      const id = region === "global" || region === "on-premises" ? name : `${name}-${region}`;
      providers.push({
        id,
        preset: name,
        title: preset.title,
        region,
        baseUrl: preset.regions === undefined ? (preset.address ?? "") : null,
        auth: authOf(preset),
      });
      endpoints.push(endpointOf({ id, name, region, preset }, models));
    }
  }
  const groups = new Map<string, string[]>();
  for (const region of new Set([...providers, ...endpoints].map((row) => row.region))) {
    const group = areaOf(region);
    groups.set(group, [...(groups.get(group) ?? []), region]);
  }
  return { workspace, trainsOnData, groups, providers, models, endpoints };
}

/** The chosen regions of a preset; the widest where none was chosen. */
function regionsFor(
  name: string,
  { regions, address = "", region: fixed = "global" }: Preset,
  wanted: readonly string[],
): readonly string[] {
  const fits = (region: string): boolean =>
    wanted.includes(region) || wanted.includes(areaOf(region));
  if (regions === undefined) {
    // Such a host has its region in its name, or none at all.
    if (wanted.length === 0 || fits(fixed)) return [fixed];
    if (!address.includes(fixed)) return wanted.slice(0, 1);
    throw new UsageError(
      `--regions: the address of ${name} is in ${fixed}; add it, or write the row by hand`,
    );
  }
  const known = Object.keys(regions);
  if (wanted.length === 0) return ["global" in regions ? "global" : (known[0] ?? "global")];
  const found = known.filter(fits);
  const onPremises = known.every((region) => region === "on-premises");
  if (found.length === 0 && !onPremises) {
    throw new UsageError(
      `--regions: ${name} has no address there, but in ${known.join(", ")}; add one of them, or leave the provider out`,
    );
  }
  // One region of an area is enough at first.
  const byArea = new Map(found.toReversed().map((region) => [areaOf(region), region]));
  return found.length === 0
    ? known
    : found.filter((region) => byArea.get(areaOf(region)) === region || wanted.includes(region));
}

/** The area that a region belongs to, as a group of routes.yaml. */
function areaOf(region: string): string {
  if (region === "global") return "world";
  if (region === "on-premises" || region === "wider-europe") return "own";
  if (region.startsWith("europe-")) return "eu";
  return region.split("-")[0] ?? region;
}

function authOf({ provider }: Preset): PlannedProvider["auth"] {
  const { auth } = provider;
  if (!isJsonObject(auth)) return "none";
  return { ...auth, on_missing_secret: "simulate" };
}

function endpointOf(
  {
    id,
    name,
    region,
    preset,
  }: {
    readonly id: string;
    readonly name: string;
    readonly region: string;
    readonly preset: Preset;
  },
  models: Map<string, JsonObject>,
): PlannedEndpoint {
  const { sample } = preset;
  const known = models.get(sample.model);
  const same = known === undefined || JSON.stringify(known) === JSON.stringify(sample.row);
  const model = same ? sample.model : `${sample.model}-${name}`;
  models.set(model, sample.row);
  const area = areaOf(region);
  const profile = sample.profiles?.[area];
  const row = {
    id: `${model}-${id}`,
    model,
    provider: id,
    ...(profile === undefined ? {} : { region: area }),
    upstream_model: profile ?? sample.upstream_model ?? "",
    ...(sample.batch === undefined ? {} : { batch: sample.batch }),
  };
  return { row, provider: id, model, region: profile === undefined ? region : area };
}
