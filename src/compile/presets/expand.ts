import type { JsonValue } from "../../canon/json.ts";
import type { Findings } from "../findings/findings.ts";
import { suggest } from "../findings/suggest.ts";
import { describeSafely, quote } from "../authored/literal-secrets.ts";
import { type ConfigNode, type MapNode, type Member, nodeAt, type Path, type Position } from "../authored/tree.ts";
import { type Preset, presetOf } from "./presets.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { CompileContext } from "../compile-context.ts";

/** What a preset may give a row; where it cannot, their absence is no second mistake. */
const GIVEN = ["dialect", "base_url", "auth"] as const;

/**
 * Writes the keys of presets into the rows of providers that name one. A row's own keys stay as they are. What a preset gives has the
 * position of the row's `preset`.
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
    const named = nodeAt(member.node, ["preset"]);
    const name = named === null ? null : textOf(named);
    if (name !== null && presetOf(name) !== undefined) used.set(id, name);
    const row = expandRow(member.node, ["providers", id], findings);
    if (row !== member.node) providers.members.set(id, { ...member, node: row });
  }
  return used;
}

function expandRow(row: MapNode, path: Path, findings: Findings): MapNode {
  const named = row.members.get("preset");
  if (named === undefined) {
    const region = row.members.get("preset_region");
    if (region !== undefined) {
      const message = `${describeSafely(path)} has \`preset_region\` without \`preset\``;
      findings.add("PRESET_REGION", region.keyAt, message, "add `preset`, or remove it");
    }
    return row;
  }
  const name = textOf(named.node);
  const preset = name === null ? undefined : presetOf(name);
  // The schema reports the name.
  if (preset === undefined) return withLost(row, GIVEN);
  // From here on the row is one without a preset, which has to be whole.
  const members = new Map([...row.members].filter(([key]) => key !== "preset"));
  const give = (key: string, value: JsonValue): void => {
    if (!members.has(key)) members.set(key, memberOf(value, named.node.at));
  };
  const lost: string[] = [];
  if (!members.has("base_url")) {
    const address = baseUrlOf(row, preset, path, named, findings);
    if (address === null) lost.push("base_url");
    else give("base_url", address);
  }
  for (const [key, value] of Object.entries(preset.provider)) give(key, value ?? null);
  return withLost({ ...row, members }, lost);
}

/** `null` where it has been reported as unknown. */
function baseUrlOf(row: MapNode, preset: Preset, path: Path, named: Member, findings: Findings): string | null {
  const { regions, address = "" } = preset;
  const where = describeSafely(path);
  if (regions === undefined) {
    const message = `${where} needs \`base_url\`: the host of its preset contains a name of your account`;
    findings.add("PRESET_ADDRESS", named.node.at, message, `such as ${address}`);
    return null;
  }
  const requested = row.members.get("preset_region") ?? row.members.get("region");
  const region = requested === undefined ? null : textOf(requested.node);
  const url = region !== null && Object.hasOwn(regions, region) ? regions[region] : undefined;
  if (url !== undefined) return url;
  // A row without a region lacks a required key, which the schema says.
  if (requested === undefined || region === null) return null;
  const message = `${where}: its preset has no region ${quote(region)}`;
  const hint = `${suggest(region, Object.keys(regions))}; set \`preset_region\`, or write \`base_url\``;
  findings.add("PRESET_REGION", requested.node.at, message, hint);
  return null;
}

function withLost(row: MapNode, names: readonly string[]): MapNode {
  return names.length === 0 ? row : { ...row, lost: new Set([...row.lost, ...names]) };
}

function textOf(node: ConfigNode): string | null {
  return node.kind === "scalar" && typeof node.value === "string" ? node.value : null;
}

function memberOf(value: JsonValue, at: Position): Member {
  return { keyAt: at, node: nodeOf(value, at) };
}

function nodeOf(value: JsonValue, at: Position): ConfigNode {
  if (Array.isArray(value))
    return { kind: "list", at, items: value.map((item: JsonValue | undefined) => nodeOf(item ?? null, at)) };
  if (typeof value === "object" && value !== null) {
    const members = new Map(
      Object.entries(value).flatMap(([name, inner]) =>
        inner === undefined ? [] : [[name, memberOf(inner, at)] as const],
      ),
    );
    return { kind: "map", at, members, lost: new Set() };
  }
  return { kind: "scalar", at, value };
}

/**
 * Names that presets, `signalbox init` and docs/providers.md write where only the reader knows the right one. In capitals no provider has such a
 * name: hosts are written small, and of the others (project, account, deployment) none may or would be one of these names alone.
 */
export const PLACEHOLDERS = ["RESOURCE", "PROJECT", "ACCOUNT", "WORKSPACE", "DEPLOYMENT", "EMBED_DEPLOYMENT"] as const;

const IN_ADDRESS = new RegExp(`[/.](${PLACEHOLDERS.join("|")})(?=[/.:]|$)`);
const ALONE = new RegExp(`^(${PLACEHOLDERS.join("|")})$`);

/** Rows that were written from a preset and are not finished: everything compiles, and every call would fail. */
export function checkPlaceholders(
  { normalised, report }: CompileContext,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
): void {
  for (const { id, baseUrl } of normalised.providers.values()) {
    const placeholder = IN_ADDRESS.exec(baseUrl)?.[1];
    if (placeholder === undefined) continue;
    const message = `the base_url of provider ${quote(id)} still has the placeholder ${quote(placeholder)}`;
    report.value("PLACEHOLDER_LEFT", ["providers", id, "base_url"], message, "replace it with your own name");
  }
  for (const [id, { row, index }] of endpoints) {
    if (!ALONE.test(row.upstreamModel)) continue;
    const message = `the upstream_model of endpoint ${quote(id)} is still the placeholder ${quote(row.upstreamModel)}`;
    const hint = "write the name under which the provider serves the model to you";
    report.value("PLACEHOLDER_LEFT", ["endpoints", index, "upstream_model"], message, hint);
  }
}
