import type { RoutingTable } from "../../canon/table.ts";

/** What a preset came to in one row of `providers`, with the row's own keys over it. */
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
    return preset === undefined ? [] : [{ provider: id, preset, dialect, base_url: baseUrl, region, flags }];
  });
}

/** One line. */
export function formatPreset({ provider, preset, dialect, base_url, flags }: ResolvedPreset): string {
  const deviations = flags.length === 0 ? "" : `, flags ${flags.join(" ")}`;
  return `${provider}: preset ${preset}, ${dialect} at ${base_url}${deviations}\n`;
}
