import type { Facet } from "./increments.ts";

/** Dimensions of a summary, and where their labels are. */
const LABELS = {
  operation: { facet: "traffic", position: 0 },
  route: { facet: "traffic", position: 1 },
  provider: { facet: "place", position: 0 },
  region: { facet: "place", position: 1 },
  model: { facet: "place", position: 2 },
  key: { facet: "key", position: 0 },
  policy: { facet: "verdict", position: 0 },
  constraint: { facet: "verdict", position: 1 },
  reason_code: { facet: "verdict", position: 2 },
  workspace: { facet: "total", position: 0 },
} as const satisfies Readonly<Record<string, { readonly facet: Facet; readonly position: number }>>;

export type LabelDimension = keyof typeof LABELS;
export type TimeDimension = "day" | "hour";
export type Dimension = LabelDimension | TimeDimension;

const LABEL_DIMENSIONS = Object.keys(LABELS).filter((name) => isLabelDimension(name));
const TIME_DIMENSIONS = ["day", "hour"] as const;

/** In the order of the documentation. */
export const DIMENSIONS: readonly Dimension[] = [...LABEL_DIMENSIONS, ...TIME_DIMENSIONS];

/** The combinations that are kept: dimensions of one line, with or without `day` or `hour`. */
const FAMILIES = "operation and route; provider, region and model; policy, constraint and reason_code; key; workspace";

export const MAXIMUM_DIMENSIONS = 3;

export interface Grouping {
  /** As requested, each once. */
  readonly dimensions: readonly Dimension[];
  /** Where the groups' cells are. */
  readonly facet: Exclude<Facet, "shadow" | "shadow_route">;
  readonly labels: readonly { readonly dimension: LabelDimension; readonly position: number }[];
  readonly time: TimeDimension | null;
}

/** @param names as the caller wrote them. Gives a sentence for the caller where they cannot be had; it repeats none of them. */
export function readGrouping(names: readonly string[]): Grouping | { readonly problem: string } {
  const dimensions: Dimension[] = [];
  for (const name of names) {
    if (!isDimension(name)) return { problem: `group_by must be one of ${DIMENSIONS.join(", ")}` };
    if (dimensions.includes(name)) return { problem: `group_by names ${name} twice; name it once` };
    dimensions.push(name);
  }
  if (dimensions.length > MAXIMUM_DIMENSIONS) {
    return { problem: `group_by must name at most ${MAXIMUM_DIMENSIONS} of ${DIMENSIONS.join(", ")}` };
  }
  const labels = dimensions.flatMap((dimension) =>
    isLabelDimension(dimension) ? [{ dimension, ...LABELS[dimension] }] : [],
  );
  const [time = null, ...moreTimes] = dimensions.filter((dimension) => !isLabelDimension(dimension));
  if (moreTimes.length > 0) return { problem: "group_by must name day or hour, not both" };
  const facet = labels[0]?.facet ?? "total";
  if (labels.some((label) => label.facet !== facet)) {
    return { problem: `group_by can combine these, each with day or hour: ${FAMILIES}` };
  }
  return { dimensions, facet, labels, time };
}

function isDimension(name: string): name is Dimension {
  return isLabelDimension(name) || name === "day" || name === "hour";
}

function isLabelDimension(name: string): name is LabelDimension {
  return Object.hasOwn(LABELS, name);
}
