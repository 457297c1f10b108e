import type { Facet } from "./increments.ts";

/**
 * Dimensions of a summary, and where their labels are; the workspace is added after the facet's
 * own.
 */
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
  workspace: { facet: "total", position: -1 },
} as const satisfies Readonly<Record<string, { readonly facet: Facet; readonly position: number }>>;

type LabelDimension = keyof typeof LABELS;
const TIME_DIMENSIONS = ["day", "hour", "minute"] as const;
type TimeDimension = (typeof TIME_DIMENSIONS)[number];
export type Dimension = LabelDimension | TimeDimension;

const LABEL_DIMENSIONS = Object.keys(LABELS).filter((name) => isLabelDimension(name));

/** In the order of the documentation. */
export const DIMENSIONS: readonly Dimension[] = [...LABEL_DIMENSIONS, ...TIME_DIMENSIONS];

/** Where the labels of spend by more than one of them are. */
const SPEND_POSITIONS: Partial<Record<LabelDimension, number>> = {
  key: 0,
  route: 1,
  model: 2,
  workspace: -1,
};

/** By what spend can be grouped: not by verdicts, which cost nothing. */
export const SPEND_DIMENSIONS = [
  "operation",
  "route",
  "provider",
  "region",
  "model",
  "key",
  "workspace",
  "day",
  "hour",
] as const satisfies readonly Dimension[];

interface Grouped {
  readonly dimensions: readonly Dimension[];
  readonly maximum: number;
  /**
   * The combinations that are kept: dimensions of one line, with or without `workspace`, `day` or
   * `hour`.
   */
  readonly families: string;
}

/** What can be grouped, and by what. */
export const GROUPED = {
  summary: {
    dimensions: DIMENSIONS,
    maximum: 3,
    families:
      "operation and route; provider, region and model; key; workspace; or policy, constraint and reason_code without workspace",
  },
  spend: {
    dimensions: SPEND_DIMENSIONS,
    maximum: 5,
    families: "key, route and model; operation and route; provider, region and model; workspace",
  },
} as const satisfies Record<string, Grouped>;

export interface Grouping {
  /** As requested, each once. */
  readonly dimensions: readonly Dimension[];
  /** Where the groups' cells are. */
  readonly facet: Exclude<Facet, "shadow" | "shadow_route">;
  /** A negative position counts from the end. */
  readonly labels: readonly { readonly dimension: LabelDimension; readonly position: number }[];
  readonly time: TimeDimension | null;
}

/**
 * @param names as the caller wrote them. Gives a sentence for the caller where they cannot be had;
 * it repeats none of them.
 */
export function readGrouping(
  names: readonly string[],
  of: keyof typeof GROUPED,
): Grouping | { readonly problem: string } {
  const { dimensions: known, maximum, families }: Grouped = GROUPED[of];
  const dimensions: Dimension[] = [];
  for (const name of names) {
    if (!isDimension(name) || !known.includes(name))
      return { problem: `group_by must be one of ${known.join(", ")}` };
    if (dimensions.includes(name)) return { problem: `group_by names ${name} twice; name it once` };
    dimensions.push(name);
  }
  if (dimensions.length > maximum) {
    return { problem: `group_by must name at most ${maximum} of ${known.join(", ")}` };
  }
  const [time = null, ...moreTimes] = dimensions.filter(
    (dimension) => !isLabelDimension(dimension),
  );
  if (moreTimes.length > 0) {
    return { problem: "group_by must name one of day, hour and minute" };
  }
  const named = dimensions.filter((dimension) => isLabelDimension(dimension));
  const facets = new Set(
    named.filter((dimension) => dimension !== "workspace").map((name) => LABELS[name].facet),
  );
  const [facet = "total", ...moreFacets] = facets;
  const one = (dimension: LabelDimension) => ({ dimension, position: LABELS[dimension].position });
  if (time === "minute") {
    return moreFacets.length === 0 && (facet === "total" || facet === "traffic")
      ? { dimensions, facet: "minute", labels: named.map(one), time }
      : { problem: "group_by can combine minute with operation, route and workspace only" };
  }
  if (moreFacets.length === 0 && !(facet === "verdict" && named.includes("workspace"))) {
    return { dimensions, facet, labels: named.map(one), time };
  }
  const labels = named.flatMap((dimension) => {
    const position = SPEND_POSITIONS[dimension];
    return position === undefined ? [] : [{ dimension, position }];
  });
  if (of === "spend" && labels.length === named.length)
    return { dimensions, facet: "spend", labels, time };
  return {
    problem: `group_by can combine these, each with workspace, and day or hour: ${families}`,
  };
}

function isDimension(name: string): name is Dimension {
  return isLabelDimension(name) || TIME_DIMENSIONS.some((time) => time === name);
}

function isLabelDimension(name: string): name is LabelDimension {
  return Object.hasOwn(LABELS, name);
}
