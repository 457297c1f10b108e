import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { CompileContext } from "../compile-context.ts";
import { compareAreas, type Area, areaOf } from "./region-areas.ts";
import { type Evidence, hostEvidence, modelIdEvidence } from "./region-evidence.ts";

/** Declared regions against what hosts and model ids show: the first line of defence against a row that says `eu` and means elsewhere. */
export function checkRegions(context: CompileContext, endpoints: ReadonlyMap<string, ResolvedEndpoint>): void {
  const shownByHost = new Map<string, Evidence>();
  for (const provider of context.normalised.providers.values()) {
    const evidence = URL.canParse(provider.baseUrl) ? hostEvidence(new URL(provider.baseUrl).hostname) : null;
    if (evidence === null) continue;
    shownByHost.set(provider.id, evidence);
    compare(context, provider.region, evidence, `the host of provider ${quote(provider.id)}`, [
      "providers",
      provider.id,
      "region",
    ]);
  }
  for (const [id, { row, index }] of endpoints) {
    const own = context.file.endpoints[index]?.region;
    const path = ["endpoints", index, own === undefined ? "upstream_model" : "region"];
    const byModel = modelIdEvidence(row.upstreamModel);
    if (byModel !== null) compare(context, row.region, byModel, `the upstream model of endpoint ${quote(id)}`, path);
    const byHost = shownByHost.get(row.provider);
    // Without a region of its own the endpoint repeats what has been said of its provider.
    if (own !== undefined && byHost !== undefined)
      compare(context, own, byHost, `the host of endpoint ${quote(id)}`, path);
  }
}

function compare(
  { normalised, declared, report }: CompileContext,
  region: string,
  evidence: Evidence,
  source: string,
  path: Path,
): void {
  if (!declared.regions.has(region)) return;
  const claims = claimsOf(region, normalised.regionGroups);
  const shows = `${source} names ${evidence.shown}`;
  if (claims.length === 0) {
    const hint = "list the region in a group named after its area, such as `eu` or `us`";
    report.value(
      "REGION_UNVERIFIED",
      path,
      `${shows}, which cannot be compared with the region ${quote(region)}`,
      hint,
    );
    return;
  }
  const outcomes = claims.map((claim) => compareAreas(claim, evidence.location));
  if (outcomes.includes("same")) return;
  const unpinned = outcomes.includes("wider") && (evidence.open || evidence.location.length > 0);
  if (unpinned) {
    const message = `${shows}, so requests may be processed outside ${quote(region)}`;
    report.value("REGION_NOT_PINNED", path, message);
  } else {
    report.value(
      "REGION_CONTRADICTED",
      path,
      `${shows}, but the region declared is ${quote(region)}`,
      "declare the region where the provider really processes requests, or change host or model id",
    );
  }
}

/** The areas that a region's name claims; those of its groups where the name follows no convention. */
function claimsOf(region: string, groups: ReadonlyMap<string, readonly string[]>): readonly Area[] {
  const own = areaOf(region);
  if (own !== null) return [own];
  return [...groups].flatMap(([group, regions]) => {
    const location = regions.includes(region) ? areaOf(group) : null;
    return location === null ? [] : [location];
  });
}
