import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { PolicySet } from "../../canon/policy.ts";
import { compileTree } from "../../compile/compile-table.ts";
import type { ConfigNode } from "../../compile/authored/tree.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { policyData } from "../../policy/policy-data.ts";
import { destinationsOf, type Destinations } from "../compare/change-kinds.ts";
import { decideSample, outcomeOf } from "../decide-sample.ts";
import type { SampleRequest, View } from "../sample-request.ts";
import type { CompiledSide, SideContent } from "../side-contents.ts";
import { sideViews, type SideViews } from "../views.ts";

/** A side that decides single requests. */
export interface DecidingSide {
  /** What becomes of a request, as text: equal texts are equal results at equal destinations. */
  readonly result: (sample: SampleRequest, view: View) => string;
  readonly serves: (sample: SampleRequest, view: View) => boolean;
  readonly table: RoutingTable;
}

/** Makes sides that differ from one side in a few entries. Policies are loaded once for all sides with the same contents and data. */
export class SideMaker {
  readonly #modules: CompiledSide["modules"];
  readonly #promoted: (id: string) => boolean;
  readonly #views = new Map<string, Promise<SideViews>>();

  /** @param modules every content that a side may have is in one of them. */
  constructor(modules: CompiledSide["modules"], promoted: (id: string) => boolean) {
    this.#modules = modules;
    this.#promoted = promoted;
  }

  async make(table: RoutingTable, contents: readonly SideContent[]): Promise<DecidingSide> {
    const views = await this.#viewsOf(table, contents);
    const destinations = destinationsOf(table);
    return {
      table,
      result: (sample, view) => resultText(table, views[view], sample, destinations),
      serves: (sample, view) => decideSample(table, views[view], sample).outcome === "route",
    };
  }

  #viewsOf(table: RoutingTable, contents: readonly SideContent[]): Promise<SideViews> {
    const slots = contents.map(({ contract, digest, slot }) => [contract.id, digest, slot]);
    const key = canonicalJson([policyData(table), slots]);
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const made = sideViews({ table, contents, modules: this.#modules }, this.#promoted);
    this.#views.set(key, made);
    return made;
  }
}

function resultText(
  table: RoutingTable,
  policies: PolicySet,
  sample: SampleRequest,
  destinations: Destinations,
): string {
  const outcome = outcomeOf(decideSample(table, policies, sample));
  const plan = outcome.plan.map((candidate) => [candidate, destinations.get(candidate.endpoint)]);
  return JSON.stringify([plan, outcome.maxCandidates, outcome.denial, outcome.edits, outcome.indeterminate]);
}

/** The table of a tree; `null` where it has an error, such as a name that is not there. */
export function tableOfTree(tree: ConfigNode, policies: readonly string[]): RoutingTable | null {
  return compileTree(tree, { policies }, new Findings("routes.yaml")) ?? null;
}
