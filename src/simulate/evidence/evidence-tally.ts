import type { RoutingTable } from "../../canon/table.ts";
import { groupKey } from "../compare/comparison-tally.ts";
import {
  VIEWS,
  type Outcome,
  type OutcomePair,
  type SampleRequest,
  type View,
  type OfSides,
} from "../sample-request.ts";
import type { RowRename } from "../renamed-table.ts";
import type { EvidenceReport, SeenUsage } from "../report/report.ts";
import { addedUsage, NOTHING_USED } from "./seen-usage.ts";
import type { EvidenceSample, EvidenceUsage, UnsayableDecision } from "./evidence-sample.ts";
import { rowOf } from "../table-rows.ts";

/** Decisions of one group, and what their answers used. */
export type SeenInGroup = SeenUsage & { readonly decisions: number };

/** Recorded requests under one view. */
interface SeenAt {
  readonly groups: Map<string, SeenInGroup>;
  decisions: number;
}

/** Names in a file are of anybody's making: a larger memory could be filled by it. */
const MAXIMUM_KNOWN = 20_000;

/** Decisions whose outcomes were not read yet; the oldest are forgotten first. */
const MAXIMUM_OPEN = 100_000;

/** Weighs changes by recorded traffic. */
export class EvidenceTally {
  readonly #decide: (sample: SampleRequest) => Record<View, OutcomePair>;
  readonly #tables: OfSides<RoutingTable>;
  /** Former name → name. */
  readonly #endpoints: ReadonlyMap<string, string>;
  /** The same request is decided once, however often it came. */
  readonly #known = new Map<string, Record<View, OutcomePair>>();
  readonly #open = new Map<string, Record<View, OutcomePair>>();
  readonly #unrepresentable = new Map<string, number>();
  readonly seen: Readonly<Record<View, SeenAt>> = {
    declared: nothingSeen(),
    promoted: nothingSeen(),
  };
  #decisions = 0;
  #notReproduced = 0;
  #first = Infinity;
  #last = -Infinity;
  unreadable = 0;

  constructor(
    decide: (sample: SampleRequest) => Record<View, OutcomePair>,
    tables: OfSides<RoutingTable>,
    renames: readonly RowRename[] = [],
  ) {
    this.#decide = decide;
    this.#tables = tables;
    this.#endpoints = new Map(
      renames.flatMap(({ kind, from, to }) => (kind === "endpoint" ? [[from, to]] : [])),
    );
  }

  add(found: EvidenceSample | UnsayableDecision): void {
    const { decisions, at } = found;
    this.#decisions += decisions;
    this.#first = Math.min(this.#first, at);
    this.#last = Math.max(this.#last, at);
    if ("unsupportedSetting" in found) {
      this.#miss(UNSAYABLE[found.unsupportedSetting], decisions);
      return;
    }
    const { sample } = found;
    const { head } = this.#tables;
    if (!Object.hasOwn(head.workspaces, sample.workspace))
      this.#miss("head has no such workspace", decisions);
    else if (sample.model !== "" && !Object.hasOwn(head.routes, sample.model)) {
      this.#miss("head has no such route", decisions);
    }
    const pairs = this.#pairs(sample);
    const plan = found.plan.map((endpoint) => this.#nameOf(endpoint));
    if (!reproduces({ ...found, plan }, pairs.declared.base)) this.#notReproduced += decisions;
    this.#see("declared", pairs.declared, decisions);
    this.#see("promoted", pairs.promoted, decisions);
    const isChanged = VIEWS.some((view) => pairs[view].kinds.length > 0);
    if (!isChanged || found.requestId === "") return;
    const [oldest] = this.#open.size >= MAXIMUM_OPEN ? this.#open.keys() : [];
    if (oldest !== undefined) this.#open.delete(oldest);
    this.#open.set(found.requestId, pairs);
  }

  /** Adds what the answer of a decision used, which was added before. */
  addUsage(usage: EvidenceUsage): void {
    const open = this.#open.get(usage.requestId);
    if (open === undefined) return;
    this.#open.delete(usage.requestId);
    const answered = usage.endpoint === null ? null : this.#nameOf(usage.endpoint);
    const before = costOf(usage, answered, this.#tables.base);
    for (const view of VIEWS) {
      const pair = open[view];
      const { kinds, head } = pair;
      // Without an answer nothing was used, at whichever endpoint.
      if (kinds.length === 0) continue;
      const next =
        head.denial === null && answered !== null ? (head.plan[0]?.endpoint ?? null) : null;
      const used = usageOf(usage, before, costOf(usage, next, this.#tables.head));
      const { groups } = this.seen[view];
      const key = groupKey(pair);
      const known = groups.get(key) ?? NOT_SEEN;
      groups.set(key, { ...addedUsage(known, used), decisions: known.decisions });
    }
  }

  /** The name that both tables have for an endpoint of a record. */
  #nameOf(endpoint: string): string {
    const name = this.#endpoints.get(endpoint);
    return name === undefined || Object.hasOwn(this.#tables.base.endpoints, endpoint)
      ? endpoint
      : name;
  }

  #pairs(sample: SampleRequest): Record<View, OutcomePair> {
    const key = JSON.stringify(sample);
    const known = this.#known.get(key) ?? this.#decide(sample);
    if (this.#known.size >= MAXIMUM_KNOWN) this.#known.clear();
    this.#known.set(key, known);
    return known;
  }

  #see(view: View, pair: OutcomePair, decisions: number): void {
    const seen = this.seen[view];
    if (pair.kinds.length === 0) return;
    seen.decisions += decisions;
    const key = groupKey(pair);
    const known = seen.groups.get(key) ?? NOT_SEEN;
    seen.groups.set(key, { ...known, decisions: known.decisions + decisions });
  }

  #miss(why: string, decisions: number): void {
    count(this.#unrepresentable, why, decisions);
  }

  report(): EvidenceReport {
    const { declared, promoted } = this.seen;
    return {
      decisions: this.#decisions,
      not_reproduced: this.#notReproduced,
      unreadable: this.unreadable,
      from: this.#decisions === 0 ? null : new Date(this.#first).toISOString(),
      to: this.#decisions === 0 ? null : new Date(this.#last).toISOString(),
      unrepresentable: [...this.#unrepresentable]
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([why, decisions]) => ({
          why,
          decisions,
        })),
      declared: { groups: declared.groups.size, decisions: declared.decisions },
      promoted: { groups: promoted.groups.size, decisions: promoted.decisions },
    };
  }
}

const UNSAYABLE: Readonly<Record<UnsayableDecision["unsupportedSetting"], string>> = {
  route: "the request named no route of its workspace",
  need: "a capability that this version does not support",
  feature: "a feature that this version does not support",
  size: "a size that this version does not support",
  preference: "a preference that this version does not support",
};

const NOT_SEEN: SeenInGroup = { decisions: 0, ...NOTHING_USED };

function usageOf(
  { endpoint, inputTokens, outputTokens }: EvidenceUsage,
  before: number | null,
  after: number | null,
): SeenUsage {
  return {
    counted: endpoint !== null && inputTokens !== null && outputTokens !== null ? 1 : 0,
    input_tokens: inputTokens ?? 0,
    output_tokens: outputTokens ?? 0,
    cost_before: before,
    cost_after: after,
    unpriced_before: before === null ? 1 : 0,
    unpriced_after: after === null ? 1 : 0,
    known_cost_before: before ?? 0,
    known_cost_after: after ?? 0,
  };
}

/**
 * US dollars by list price; `null` where an endpoint has no price or the provider did not count. A
 * call without an answer costs nothing.
 */
function costOf(
  { inputTokens, outputTokens }: EvidenceUsage,
  id: string | null,
  table: RoutingTable,
): number | null {
  if (id === null) return 0;
  const price = rowOf(table.endpoints, id)?.price ?? null;
  if (price === null || inputTokens === null || outputTokens === null) return null;
  return (inputTokens * price.input + outputTokens * price.output) / 1_000_000 + price.request;
}

function nothingSeen(): SeenAt {
  return { groups: new Map(), decisions: 0 };
}

function count(counts: Map<string, number>, key: string, decisions: number): void {
  counts.set(key, (counts.get(key) ?? 0) + decisions);
}

function reproduces({ outcome, plan, reason }: EvidenceSample, base: Outcome): boolean {
  if (outcome === "deny") return base.denial !== null && base.denial.reason === reason;
  return (
    base.denial === null && base.plan.map(({ endpoint }) => endpoint).join("\n") === plan.join("\n")
  );
}
