import { remembered } from "../remembered.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { ConfigNode } from "../../compile/authored/tree.ts";
import { type RowRename, withRenames, type FoundRename } from "../renamed-table.ts";
import {
  type CompiledSide,
  type CompiledSides,
  byIdThenSlot,
  type SideContent,
} from "../side-contents.ts";
import type { SideTrees } from "./changed-entries.ts";
import { needs, type ChangedUnit } from "./changed-units.ts";
import { memberAt, withMember, renamedTree } from "./config-tree.ts";
import { canonicalJson } from "../../canon/json.ts";
import type { PolicySet } from "../../canon/policy.ts";
import { compileTree } from "../../compile/compile-table.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { policyData } from "../../policy/input-schema.ts";
import { destinationsOf, type Destinations } from "../compare/change-kinds.ts";
import { decideSample, outcomeOf } from "../decide-sample.ts";
import type { SampleRequest, View, OfSides } from "../sample-request.ts";
import { sideViews, type SideViews } from "../views.ts";

/**
 * Base and head, and each of them with one unit as the other side has it; `null` where that does
 * not compile.
 */
export interface Variants extends OfSides<DecidingSide> {
  readonly undone: readonly (DecidingSide | null)[];
  /** Whether a unit is a row's other name and nothing else. */
  readonly isRename: (unit: number) => boolean;
  /** Base with one unit as head has it, made when it is needed. */
  readonly done: (unit: number) => Promise<DecidingSide | null>;
}

interface VariantQuestion {
  readonly compiled: CompiledSides;
  readonly trees: SideTrees;
  /** Policies that count as promoted. */
  readonly promotedPolicies: readonly string[];
  /** Rows that go by another name in head, whether or not their content changed. */
  readonly renamed: readonly RowRename[];
  readonly renames: readonly FoundRename[];
}

/** Base and head, and each of them with one unit as the other side has it. */
export async function variantsOf(
  units: readonly ChangedUnit[],
  { compiled: { base, head }, trees, promotedPolicies, renamed, renames }: VariantQuestion,
): Promise<Variants> {
  const maker = new SideMaker([...head.modules, ...base.modules], (id) =>
    promotedPolicies.includes(id),
  );
  const inverse = renamed.map(reversed);
  const undoing = { from: head, to: base, own: trees.head, other: trees.base, renamed, renames };
  const doing = {
    from: base,
    to: head,
    own: trees.base,
    other: trees.head,
    renamed: inverse,
    renames,
  };
  const own = await maker.make(head.table, head.contents);
  const undone: (DecidingSide | null)[] = [];
  // One after the other: each may load policies.
  for (const unit of units) {
    undone.push(
      (await variant(maker, unit, undoing)) ??
        (await variant(
          maker,
          withRows(unit, units, (other) => needs(other, unit)),
          undoing,
        )),
    );
  }
  const before = await maker.make(base.table, base.contents);
  const done = new Map<number, Promise<DecidingSide | null>>();
  return {
    base: before,
    head: own,
    undone,
    isRename: (index) => units[index]?.rename != null,
    done: (index) => {
      const unit = units[index];
      if (unit === undefined) return Promise.resolve(null);
      const isNeeded = (other: ChangedUnit) => needs(unit, other);
      return remembered(done, index, () => variant(maker, withRows(unit, units, isNeeded), doing));
    },
  };
}

/** A unit with the rows of others, without which no side with it compiles. */
function withRows(
  unit: ChangedUnit,
  units: readonly ChangedUnit[],
  isNeeded: (other: ChangedUnit) => boolean,
): ChangedUnit {
  const others = units.filter((other) => other !== unit && unit.row === null && isNeeded(other));
  return { ...unit, rows: [unit, ...others].flatMap(({ rows }) => rows) };
}

interface Direction extends Pick<VariantQuestion, "renames" | "renamed"> {
  readonly from: CompiledSide;
  readonly to: CompiledSide;
  readonly own: ConfigNode | null;
  readonly other: ConfigNode | null;
}

/** One side with a unit as the other side has it; `null` where its table does not compile. */
async function variant(
  maker: SideMaker,
  unit: ChangedUnit,
  { from, to, own, other, renamed, renames }: Direction,
): Promise<DecidingSide | null> {
  const { rows, policy } = unit;
  let table: RoutingTable | null = from.table;
  if (rows.length > 0 && own !== null && other !== null) {
    const tree = treeWith(unit, own, other, renamed);
    const made = tableOfTree(tree, [
      ...new Set([...from.contents, ...to.contents].map(({ contract }) => contract.id)),
    ]);
    table = made === null ? null : withRenames(made, renames);
  }
  if (table === null) return null;
  const contents =
    policy === null
      ? from.contents
      : [
          ...from.contents.filter(({ contract }) => contract.id !== policy),
          ...to.contents.filter(({ contract }) => contract.id === policy),
        ].toSorted(byIdThenSlot);
  return maker.make(table, contents);
}

/**
 * One tree with a unit as the other tree has it, in the names that the one tree has for everything
 * else.
 *
 * @param renamed names of the other tree, and those of the one tree.
 */
function treeWith(
  { rows, row }: ChangedUnit,
  own: ConfigNode,
  other: ConfigNode,
  renamed: readonly RowRename[],
): ConfigNode {
  if (row === null) {
    const alike = renamedTree(other, renamed);
    return rows.reduce((all, { path }) => withMember(all, path, memberAt(alike, path)), own);
  }
  const isOwn = ({ kind, from, to }: RowRename) =>
    kind === row.kind && [from, to].every((name) => name === row.from || name === row.to);
  const back = renamed.filter(isOwn).map(reversed);
  const alike = renamedTree(
    other,
    renamed.filter((one) => !isOwn(one)),
  );
  const paths = rows.filter(({ path }) => path.length === 2).map(({ path }) => path);
  return paths.reduce(
    (all, path) => withMember(all, path, memberAt(alike, path)),
    renamedTree(own, back),
  );
}

function reversed({ kind, from, to }: RowRename): RowRename {
  return { kind, from: to, to: from };
}

/** A side that decides single requests. */
export interface DecidingSide {
  /**
   * The result of a request as text.
   *
   * @param withDestinations whether equal texts are also equal versions, addresses and contracts.
   */
  readonly result: (sample: SampleRequest, view: View, withDestinations: boolean) => string;
  readonly serves: (sample: SampleRequest, view: View) => boolean;
  readonly table: RoutingTable;
}

/**
 * Makes sides that differ from one side in a few entries. Policies are loaded once for all sides
 * with the same contents and data.
 */
class SideMaker {
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
      result: (sample, view, withDestinations) =>
        resultText(table, views[view], sample, withDestinations ? destinations : new Map()),
      serves: (sample, view) => decideSample(table, views[view], sample).outcome === "route",
    };
  }

  #viewsOf(table: RoutingTable, contents: readonly SideContent[]): Promise<SideViews> {
    const slots = contents.map(({ contract, digest, slot }) => [contract.id, digest, slot]);
    const key = canonicalJson([policyData(table), slots]);
    return remembered(this.#views, key, () =>
      sideViews({ table, contents, modules: this.#modules }, this.#promoted),
    );
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
  return JSON.stringify([
    plan,
    outcome.maxCandidates,
    outcome.denial,
    outcome.edits,
    outcome.indeterminate,
  ]);
}

/** The table of a tree; `null` where it has an error, such as a name that is not there. */
function tableOfTree(tree: ConfigNode, policies: readonly string[]) {
  return compileTree(tree, { policies }, new Findings("routes.yaml"));
}
