import {
  COUNT,
  described,
  NULLABLE_AMOUNT,
  NULLABLE_COUNT,
  type ValueOf,
  whole,
  wholeOrNull,
} from "../canon/json/schema.ts";
import { FAILURE_KINDS } from "../canon/failure.ts";
import { parseJson } from "../canon/json.ts";
import {
  TERMINALS,
  asIdentifier,
  type Identifier,
  SECOND_CHOICE_REASONS,
} from "../evidence/record.ts";
import { Cell, addTo, type QuantileSketch } from "./cell.ts";

/** Verdicts of one revision in shadow about the requests that it judged. */
export interface ShadowPolicy extends ShadowMeasures {
  readonly policy: Identifier;
  readonly revision: Identifier;
  /** Its verdicts against them. A request can be in several. */
  readonly verdicts: readonly ShadowVerdict[];
}

interface ShadowVerdict extends Omit<ShadowMeasures, "judged"> {
  readonly constraint: Identifier | null;
  readonly reason_code: Identifier | null;
}

/** Adds up cells of the facet `shadow`. */
export class ShadowCounts {
  /** By labels. */
  readonly #cells = new Map<string, Cell>();
  /** Keys of the counts of `judged` that belong to the added cells; kept by the caller. */
  readonly judgedBy = new Set<string>();

  /** For the order of groups. */
  get size(): number {
    let size = 0;
    for (const cell of this.#cells.values())
      size += cell.get("would_deny") + cell.get("would_narrow");
    return size;
  }

  add(labels: string, cell: Uint8Array): void {
    addTo(this.#cells, labels, cell);
  }

  /** All that was added, as parts of `judged`. */
  sum(judged: number): ShadowMeasures {
    const sum = new Cell();
    for (const cell of this.#cells.values()) sum.addEncoded(cell.encode());
    return shadowMeasures(sum, judged);
  }

  /** By revision, sorted by policy and revision; at most `limit` verdicts of each. */
  finish(limit: number): readonly ShadowPolicy[] {
    const revisions = [...this.#cells].flatMap(([labels, cell]) => {
      const [policy, revision, ...verdict] = readLabels(labels);
      if (policy == null || revision == null || verdict.length > 0) return [];
      return [
        {
          policy,
          revision,
          ...shadowMeasures(cell),
          verdicts: this.#verdicts(policy, revision, limit),
        },
      ];
    });
    return revisions.toSorted((left, right) =>
      compare(`${left.policy}\n${left.revision}`, `${right.policy}\n${right.revision}`),
    );
  }

  #verdicts(ofPolicy: Identifier, ofRevision: Identifier, limit: number): readonly ShadowVerdict[] {
    const sorted = [...this.#cells].toSorted(([left], [right]) => compare(left, right));
    const verdicts = sorted.flatMap(([labels, cell]) => {
      const [policy, revision, ...verdict] = readLabels(labels);
      if (policy !== ofPolicy || revision !== ofRevision || verdict.length === 0) return [];
      const { judged: _, ...measures } = shadowMeasures(cell, 0);
      return [{ constraint: verdict[0] ?? null, reason_code: verdict[1] ?? null, ...measures }];
    });
    return verdicts
      .toSorted(
        (left, right) =>
          right.would_deny + right.would_narrow - left.would_deny - left.would_narrow,
      )
      .slice(0, limit);
  }
}

export function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Reads a cell's labels. They were checked when they were written. */
export function readLabels(labels: string): readonly (Identifier | null)[] {
  const value: unknown = parseJson(labels);
  if (!Array.isArray(value)) throw new TypeError("labels of a roll-up are not a list");
  return value.map((label) => (typeof label === "string" ? asIdentifier(label) : null));
}

const percentileSchema = whole({
  count: COUNT,
  p50: NULLABLE_AMOUNT,
  p90: NULLABLE_AMOUNT,
  p95: NULLABLE_AMOUNT,
  p99: NULLABLE_AMOUNT,
});

/** A member for each of the names, in their order. */
function each<Name extends string, Value>(names: readonly Name[], valueOf: (name: Name) => Value) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a member for each of the names
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Readonly<
    Record<Name, Value>
  >;
}

/** A member for each of the names whose count is not zero. */
function positive<Name extends string>(
  names: readonly Name[],
  countOf: (name: Name) => number,
): Partial<Record<Name, number>> {
  const found: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const count = countOf(name);
    if (count > 0) found[name] = count;
  }
  return found;
}

const counts = <Name extends string>(names: readonly Name[]) => each(names, () => COUNT);

/**
 * Verdicts of shadow revisions. Requests, except in groups by constraint or reason: verdicts there.
 */
export const SHADOW_VERDICTS = {
  would_deny: COUNT,
  newly_denied: COUNT,
  would_narrow: COUNT,
  indeterminate: COUNT,
} as const;

/**
 * Numbers of a set of requests, as answers have them; `null` where they are not kept for the
 * grouping.
 */
export const MEASURES = whole({
  requests: COUNT,
  running: described(NULLABLE_COUNT, "Decided, not ended."),
  allowed: COUNT,
  answered: described(COUNT, "Answered by the router itself."),
  denied: described(COUNT, "By a policy or an approval."),
  refused: described(COUNT, "Before there was a decision."),
  shadow: wholeOrNull(
    { judged: COUNT, ...SHADOW_VERDICTS },
    "Verdicts of revisions in shadow, as parts of `judged`; `newly_denied` was let through. `null`: not stored for this grouping.",
  ),
  ended: wholeOrNull(
    {
      terminals: whole(counts(TERMINALS)),
      fallbacks: described(COUNT, "Requests for which more than one endpoint was tried."),
      second_choice: whole({
        total: described(
          COUNT,
          "Requests that another endpoint answered than the route's primary or its load-balanced group.",
        ),
        reasons: {
          type: "object",
          additionalProperties: false,
          properties: counts(SECOND_CHOICE_REASONS),
        },
      }),
      attempts: whole({
        total: COUNT,
        failed: { type: "object", additionalProperties: false, properties: counts(FAILURE_KINDS) },
      }),
      tokens: whole({
        input: COUNT,
        output: COUNT,
        cache_read: COUNT,
        reasoning: COUNT,
        counted_requests: described(COUNT, "Number of requests in the sums."),
      }),
      latency_ms: whole(
        { total: percentileSchema, first_byte: percentileSchema, router: percentileSchema },
        "Of requests that were let through; each number within `relative_error`.",
      ),
    },
    "Of the requests that have ended. `null`: not kept for this grouping.",
  ),
});

/** Numbers of a set of requests. */
export type Measures = ValueOf<typeof MEASURES>;
export type ShadowMeasures = NonNullable<Measures["shadow"]>;
type EndMeasures = NonNullable<Measures["ended"]>;
export type Percentiles = EndMeasures["latency_ms"]["total"];

/** Of a cell in which each request counts. */
export function requestMeasures(cell: Cell): Measures {
  return {
    ...decisionMeasures(cell),
    running: Math.max(0, cell.get("requests") - cell.get("ended")),
    shadow: shadowMeasures(cell),
    ended: endMeasures(cell),
  };
}

/** Of an endpoint: a request counts where it ended, an attempt where it was made. */
export function endpointMeasures(cell: Cell): Measures {
  return { ...decisionMeasures(cell), running: null, shadow: null, ended: endMeasures(cell) };
}

/** Of a verdict: denials and refusals only. */
export function verdictMeasures(cell: Cell, shadow: ShadowMeasures | null): Measures {
  return { ...decisionMeasures(cell), running: null, shadow, ended: null };
}

export function shadowMeasures(cell: Cell, judged: number = cell.get("judged")): ShadowMeasures {
  return {
    judged,
    ...each(["would_deny", "newly_denied", "would_narrow", "indeterminate"], (name) =>
      cell.get(name),
    ),
  };
}

function decisionMeasures(
  cell: Cell,
): Pick<Measures, "requests" | "allowed" | "answered" | "denied" | "refused"> {
  return each(["requests", "allowed", "answered", "denied", "refused"], (name) => cell.get(name));
}

function endMeasures(cell: Cell): EndMeasures {
  const reasons = positive(SECOND_CHOICE_REASONS, (reason) => cell.get(`second_choice.${reason}`));
  return {
    terminals: each(TERMINALS, (name) => cell.get(`terminal.${name}`)),
    fallbacks: cell.get("fell_back"),
    second_choice: {
      total: Object.values(reasons).reduce((sum, count) => sum + count, 0),
      reasons,
    },
    attempts: {
      total: cell.get("attempts"),
      failed: positive(FAILURE_KINDS, (kind) => cell.get(`failure.${kind}`)),
    },
    tokens: {
      input: cell.get("input_tokens"),
      output: cell.get("output_tokens"),
      cache_read: cell.get("cache_read_tokens"),
      reasoning: cell.get("reasoning_tokens"),
      counted_requests: cell.get("metered"),
    },
    latency_ms: each(["total", "first_byte", "router"], (name) =>
      percentiles(cell.latencies(name)),
    ),
  };
}

function percentiles(sketch: QuantileSketch): Percentiles {
  const at = (share: number): number | null => {
    const value = sketch.quantile(share);
    return value === null ? null : Math.round(value * 1_000) / 1_000;
  };
  return { count: sketch.count, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

/** Cost of a set of requests, as answers have it. */
export const SPEND_MEASURES = whole({
  requests: COUNT,
  input_tokens: COUNT,
  output_tokens: COUNT,
  cache_read_tokens: described(COUNT, "Part of the input that came from a cache."),
  reasoning_tokens: described(COUNT, "Part of the output that was reasoning."),
  cost_usd: described(
    NULLABLE_AMOUNT,
    "Sum of the known costs, US dollars by list price; `null`: no cost is known.",
  ),
  unpriced_requests: described(
    COUNT,
    "Requests that a provider carried out and whose cost is unknown.",
  ),
});

export type SpendMeasures = ValueOf<typeof SPEND_MEASURES>;

/** Billionths in a US dollar. */
const NANO = 1_000_000_000;

/** Of a cell that counts requests, or their parts at an endpoint. */
export function spendMeasures(cell: Cell): SpendMeasures {
  const priced = cell.get("priced");
  const pricedAndMetered = priced - cell.get("priced_unmetered");
  return {
    requests: cell.get("requests"),
    input_tokens: cell.get("input_tokens"),
    output_tokens: cell.get("output_tokens"),
    cache_read_tokens: cell.get("cache_read_tokens"),
    reasoning_tokens: cell.get("reasoning_tokens"),
    cost_usd: priced === 0 ? null : cell.get("cost_nano_usd") / NANO,
    unpriced_requests:
      Math.max(0, cell.get("metered") - pricedAndMetered) + cell.get("unpriced_unmetered"),
  };
}
