import type { RoutingTable } from "../../canon/table.ts";
import { groupKey } from "../compare/group-tally.ts";
import type { Outcome, OutcomePair, SampleRequest, View } from "../sample-request.ts";
import type { EvidenceReport } from "../report/report.ts";
import type { EvidenceSample, UnsayableDecision } from "./evidence-sample.ts";

/** What one view makes of the requests that really came. */
interface SeenAt {
  /** Group → decisions. */
  readonly groups: Map<string, number>;
  /** `workspace`, `operation`, `provider`, `region`, one to a line → decisions that take the path, on head or on base. */
  readonly paths: Map<string, number>;
  decisions: number;
}

/** Names in a file are of anybody's making: a larger memory could be filled by it. */
const MAXIMUM_KNOWN = 20_000;

/** Weighs changes by recorded traffic. */
export class EvidenceTally {
  readonly #decide: (sample: SampleRequest) => Record<View, OutcomePair>;
  readonly #head: RoutingTable;
  /** The same request is decided once, however often it came. */
  readonly #known = new Map<string, Record<View, OutcomePair>>();
  readonly #unrepresentable = new Map<string, number>();
  readonly seen: Readonly<Record<View, SeenAt>> = { declared: nothingSeen(), promoted: nothingSeen() };
  #decisions = 0;
  #notReproduced = 0;
  #first = Infinity;
  #last = -Infinity;
  unreadable = 0;

  constructor(decide: (sample: SampleRequest) => Record<View, OutcomePair>, head: RoutingTable) {
    this.#decide = decide;
    this.#head = head;
  }

  add(found: EvidenceSample | UnsayableDecision): void {
    const { decisions, at } = found;
    this.#decisions += decisions;
    this.#first = Math.min(this.#first, at);
    this.#last = Math.max(this.#last, at);
    if ("unsayable" in found) {
      this.#miss(UNSAYABLE[found.unsayable], decisions);
      return;
    }
    const { sample } = found;
    if (!Object.hasOwn(this.#head.workspaces, sample.workspace)) this.#miss("head has no such workspace", decisions);
    else if (sample.model !== "" && !Object.hasOwn(this.#head.routes, sample.model)) {
      this.#miss("head has no such route", decisions);
    }
    const pairs = this.#pairs(sample);
    if (!reproduces(found, pairs.declared.base)) this.#notReproduced += decisions;
    this.#see("declared", sample, pairs.declared, decisions);
    this.#see("promoted", sample, pairs.promoted, decisions);
  }

  #pairs(sample: SampleRequest): Record<View, OutcomePair> {
    const key = JSON.stringify(sample);
    const known = this.#known.get(key) ?? this.#decide(sample);
    if (this.#known.size >= MAXIMUM_KNOWN) this.#known.clear();
    this.#known.set(key, known);
    return known;
  }

  #see(view: View, sample: SampleRequest, pair: OutcomePair, decisions: number): void {
    const seen = this.seen[view];
    const endpoints = new Set(
      [...pair.base.plan, ...pair.head.plan].map(({ provider, region }) => `${provider}\n${region}`),
    );
    for (const endpoint of endpoints)
      count(seen.paths, `${sample.workspace}\n${sample.operation}\n${endpoint}`, decisions);
    if (pair.kinds.length === 0) return;
    seen.decisions += decisions;
    count(seen.groups, groupKey(pair), decisions);
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
        .map(([why, decisions]) => ({ why, decisions })),
      declared: { groups: declared.groups.size, decisions: declared.decisions },
      promoted: { groups: promoted.groups.size, decisions: promoted.decisions },
    };
  }
}

const UNSAYABLE: Readonly<Record<UnsayableDecision["unsayable"], string>> = {
  route: "the request named no route of its workspace",
  need: "a capability that this version does not know",
  feature: "a feature that this version does not know",
  size: "a size that this version does not know",
  preference: "a preference that this version does not know",
};

function nothingSeen(): SeenAt {
  return { groups: new Map(), paths: new Map(), decisions: 0 };
}

function count(counts: Map<string, number>, key: string, decisions: number): void {
  counts.set(key, (counts.get(key) ?? 0) + decisions);
}

function reproduces({ outcome, plan, reason }: EvidenceSample, base: Outcome): boolean {
  if (outcome === "deny") return base.denial !== null && base.denial.reason === reason;
  return base.denial === null && base.plan.map(({ endpoint }) => endpoint).join("\n") === plan.join("\n");
}
