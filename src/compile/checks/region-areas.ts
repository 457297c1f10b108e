/**
 * Areas as a path from wide to narrow, so that `eu-central-1` lies in `eu-central`, which lies in `eu`. The empty path
 * is the whole world. Two names of one area in different spellings (`europe-west4`, `eu-west`) share their beginning.
 */
export type Area = readonly string[];

/** First parts of region names, and the area that each lies in. */
const AREAS: ReadonlyMap<string, Area> = new Map<string, Area>([
  ["global", []],
  ["us", ["us"]],
  ["usgov", ["us", "usgov"]],
  ["northamerica", ["northamerica"]],
  ["ca", ["ca"]],
  ["mx", ["mx"]],
  ["sa", ["sa"]],
  ["southamerica", ["sa"]],
  ["eu", ["eu"]],
  ["europe", ["eu"]],
  ["uk", ["uk"]],
  ["ch", ["ch"]],
  ["ap", ["apac"]],
  ["apac", ["apac"]],
  ["asia", ["apac"]],
  ["jp", ["apac", "jp"]],
  ["in", ["apac", "in"]],
  ["au", ["apac", "au"]],
  ["australia", ["apac", "au"]],
  ["me", ["me"]],
  ["ae", ["me", "ae"]],
  ["il", ["me", "il"]],
  ["af", ["af"]],
  ["africa", ["af"]],
  ["cn", ["cn"]],
]);

/**
 * Regions whose name claims more than their area holds. London and Zürich are not in the European Union; the others
 * are national regions with a continent's name.
 */
const PARTICULAR: ReadonlyMap<string, Area> = new Map<string, Area>([
  ["eu-west-2", ["uk"]],
  ["europe-west2", ["uk"]],
  ["eu-central-2", ["ch"]],
  ["europe-west6", ["ch"]],
  ["ap-northeast-1", ["apac", "jp", "ap-northeast-1"]],
  ["ap-northeast-3", ["apac", "jp", "ap-northeast-3"]],
  ["asia-northeast1", ["apac", "jp", "asia-northeast1"]],
  ["asia-northeast2", ["apac", "jp", "asia-northeast2"]],
  ["ap-south-1", ["apac", "in", "ap-south-1"]],
  ["ap-south-2", ["apac", "in", "ap-south-2"]],
  ["asia-south1", ["apac", "in", "asia-south1"]],
  ["asia-south2", ["apac", "in", "asia-south2"]],
  ["ap-southeast-2", ["apac", "au", "ap-southeast-2"]],
  ["ap-southeast-4", ["apac", "au", "ap-southeast-4"]],
]);

/** The area in a region's name; `null` where the name follows no convention. */
export function areaOf(name: string): Area | null {
  const particular = PARTICULAR.get(name);
  if (particular !== undefined) return particular;
  const spelt = /^(?<area>us-gov|[a-z]+)(?:-(?<direction>[a-z]+))?(?:-?(?<number>\d+))?$/.exec(name)?.groups;
  const areaName = (spelt?.["area"] ?? "").replace("-", "");
  const area = AREAS.get(areaName);
  if (spelt === undefined || area === undefined) return null;
  const direction = spelt["direction"];
  if (direction === undefined) return area;
  const side = [...area, `${area.at(-1) ?? areaName}-${direction}`];
  return spelt["number"] === undefined ? side : [...side, name];
}

/** `same`: the claim holds. `wider`: the evidence allows areas outside the claim. `elsewhere`: it contradicts it. */
export function compareAreas(claim: Area, evidence: Area): "same" | "wider" | "elsewhere" {
  const shared = Math.min(claim.length, evidence.length);
  for (let index = 0; index < shared; index += 1) if (claim[index] !== evidence[index]) return "elsewhere";
  return evidence.length < claim.length ? "wider" : "same";
}
