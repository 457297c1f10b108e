import type { JsonObject, JsonValue } from "../canon/json.ts";
import rows from "./presets.json" with { type: "json" };
import type { RoutingTable } from "../canon/table.ts";
import type { Findings } from "./findings/findings.ts";
import { describeSafely, quote, suggest } from "./authored/literal-secrets.ts";
import {
  type ConfigNode,
  type MapNode,
  type Member,
  nodeAt,
  textAt,
  type Path,
  type Position,
  textOf,
} from "./authored/tree.ts";

/** A model that a preset's provider serves, as `signalbox init` writes it. */
export interface PresetSample {
  readonly model: string;
  /** The row under `models`. */
  readonly row: JsonObject;
  /** The provider's name of the model. */
  readonly upstream_model?: string;
  /**
   * The same by area, where the name contains the region of processing; the endpoint's region is
   * then the area.
   */
  readonly profiles?: Readonly<Record<string, string>>;
  readonly batch?: JsonObject;
}

/** A provider's interface: one row of `presets.json`. */
export interface Preset {
  readonly title: string;
  /**
   * Base URL by region; absent where the host carries a name of the account, and `base_url` has to
   * be written.
   */
  readonly regions?: Readonly<Record<string, string>>;
  /** Such a host, with the names to replace in capitals. */
  readonly address?: string;
  /** The region that such an address shows, or that the page's row declares. */
  readonly region?: string;
  /** Keys of a provider row that do not depend on the region. */
  readonly provider: JsonObject;
  readonly sample: PresetSample;
  /** The matching row of docs/providers.md, which names what is not verified. */
  readonly row: string;
  /** Where address and facts come from. */
  readonly source: string;
  /** Year and month. */
  readonly checked: string;
}

/** By name. `docs/presets.md` lists them. */
export const PRESETS: Readonly<Record<string, Preset>> = rows;

/** Sorted. */
export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS).toSorted();

/** `undefined` for an unknown name, and for none. */
export function presetOf(name: string | null): Preset | undefined {
  return name !== null && Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
}

/** A preset applied to one row of `providers`; the row's own keys override it. */
export interface ResolvedPreset {
  readonly provider: string;
  readonly preset: string;
  readonly dialect: string;
  readonly base_url: string;
  readonly region: string;
  readonly flags: readonly string[];
}

/** By provider id. */
export function resolvedPresets(
  { providers }: RoutingTable,
  presets: ReadonlyMap<string, string>,
): readonly ResolvedPreset[] {
  return Object.values(providers).flatMap(({ id, dialect, baseUrl, region, flags }) => {
    const preset = presets.get(id);
    return preset === undefined
      ? []
      : [{ provider: id, preset, dialect, base_url: baseUrl, region, flags }];
  });
}

/** One line. */
export function formatPreset({
  provider,
  preset,
  dialect,
  base_url,
  flags,
}: ResolvedPreset): string {
  const deviations = flags.length === 0 ? "" : `, flags ${flags.join(" ")}`;
  return `${provider}: preset ${preset}, ${dialect} at ${base_url}${deviations}\n`;
}

/** Keys that a preset may give; after a faulty preset their absence is not reported again. */
const PRESET_KEYS = ["dialect", "base_url", "auth"] as const;

/**
 * Writes the keys of presets into provider rows that name one. A row's own keys win. Added keys
 * have the position of the row's `preset`.
 *
 * @param tree is changed.
 * @returns the preset of each provider that names one, by the provider's id.
 */
export function expandPresets(tree: ConfigNode, findings: Findings): ReadonlyMap<string, string> {
  const providers = nodeAt(tree, ["providers"]);
  const used = new Map<string, string>();
  if (providers?.kind !== "map") return used;
  for (const [id, member] of providers.members) {
    if (member.node.kind !== "map") continue;
    const name = textAt(member.node, "preset");
    if (name !== null && presetOf(name) !== undefined) used.set(id, name);
    const row = expandRow(member.node, ["providers", id], findings);
    if (row !== member.node) providers.members.set(id, { ...member, node: row });
  }
  return used;
}

function expandRow(row: MapNode, path: Path, findings: Findings): MapNode {
  const presetMember = row.members.get("preset");
  if (presetMember === undefined) {
    const region = row.members.get("preset_region");
    if (region !== undefined) {
      findings.add(
        "PRESET_REGION",
        region.keyAt,
        `${describeSafely(path)} has \`preset_region\` without \`preset\``,
        "add `preset`, or remove it",
      );
    }
    return row;
  }
  const name = textOf(presetMember.node);
  const preset = presetOf(name);
  // The schema reports the name.
  if (preset === undefined) return withLost(row, PRESET_KEYS);
  // From here on it is a row without a preset, which must be complete.
  const members = new Map([...row.members].filter(([key]) => key !== "preset"));
  const give = (key: string, value: JsonValue) => {
    if (!members.has(key)) members.set(key, memberOf(value, presetMember.node.at));
  };
  const missing: string[] = [];
  if (!members.has("base_url")) {
    const address = baseUrlOf(row, preset, path, presetMember, findings);
    if (address === null) missing.push("base_url");
    else give("base_url", address);
  }
  for (const [key, value] of Object.entries(preset.provider)) give(key, value ?? null);
  return withLost({ ...row, members }, missing);
}

/** `null` where it has been reported as unknown. */
function baseUrlOf(
  row: MapNode,
  preset: Preset,
  path: Path,
  presetMember: Member,
  findings: Findings,
): string | null {
  const { regions, address = "" } = preset;
  const where = describeSafely(path);
  if (regions === undefined) {
    findings.add(
      "PRESET_ADDRESS",
      presetMember.node.at,
      `${where} needs \`base_url\`: the host of its preset contains a name of your account`,
      `such as ${address}`,
    );
    return null;
  }
  const requested = row.members.get("preset_region") ?? row.members.get("region");
  const region = textOf(requested?.node ?? null);
  const url = region !== null && Object.hasOwn(regions, region) ? regions[region] : undefined;
  if (url !== undefined) return url;
  // A row without a region lacks a required key; the schema reports it.
  if (requested === undefined || region === null) return null;
  findings.add(
    "PRESET_REGION",
    requested.node.at,
    `${where}: its preset has no region ${quote(region)}`,
    `${suggest(region, Object.keys(regions))}; set \`preset_region\`, or write \`base_url\``,
  );
  return null;
}

function withLost(row: MapNode, names: readonly string[]) {
  return names.length === 0 ? row : { ...row, unread: new Set([...row.unread, ...names]) };
}

/** A member that is not written in the file. @param at position that findings about it show. */
export function memberOf(value: JsonValue, at: Position): Member {
  return { keyAt: at, node: nodeOf(value, at) };
}

function nodeOf(value: JsonValue, at: Position): ConfigNode {
  if (Array.isArray(value))
    return {
      kind: "list",
      at,
      items: value.map((item: JsonValue | undefined) => nodeOf(item ?? null, at)),
    };
  if (typeof value === "object" && value !== null) {
    const members = new Map(
      Object.entries(value).flatMap(([name, inner]) =>
        inner === undefined ? [] : [[name, memberOf(inner, at)] as const],
      ),
    );
    return { kind: "map", at, members, unread: new Set() };
  }
  return { kind: "scalar", at, value };
}
