import { remembered } from "../remembered.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { ConfigNode } from "../../compile/authored/tree.ts";
import { type RowRename, withRenames, type FoundRename } from "../renamed-table.ts";
import {
  type CompiledSide,
  type CompiledSides,
  byIdThenSlot,
  slotsOf,
  type SideContent,
} from "../side-contents.ts";
import type { SideTrees } from "./changed-entries.ts";
import { needs, type ChangedUnit } from "./changed-units.ts";
import { memberAt, putMember, renamedTree } from "./config-tree.ts";
import { canonicalJson } from "../../canon/json.ts";
import { compileTree } from "../../compile/compile-table.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { policyData } from "../../policy/input-schema.ts";
import { destinationsOf } from "../compare/change-kinds.ts";
import { decideSample, outcomeOf } from "../decide-sample.ts";
import {
  OTHER_SIDE,
  type OfSides,
  type SampleRequest,
  type SideName,
  type View,
} from "../sample-request.ts";
import { sideViews, type SideViews } from "../views.ts";

/**
 * Base and head, and each of them with one unit as the other side has it; `null` where that does
 * not compile.
 */
export interface Variants extends OfSides<DecidingSide> {
  readonly reverted: readonly (DecidingSide | null)[];
  /** Whether a unit is a row's other name and nothing else. */
  readonly isRename: (unit: number) => boolean;
  /** Base with one unit as head has it, made when it is needed. */
  readonly applied: (unit: number) => Promise<DecidingSide | null>;
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
  { compiled, trees, promotedPolicies, renamed, renames }: VariantQuestion,
): Promise<Variants> {
  const { base, head } = compiled;
  const sideOf = sideMaker([...head.modules, ...base.modules], promotedPolicies);
  const policies = [
    ...new Set([...head.contents, ...base.contents].map(({ contract }) => contract.id)),
  ];
  /** Names of the other side, and those of each side. */
  const names = { base: renamed.map(reversed), head: renamed };

  /** One side with a unit as the other side has it; `null` where its table does not compile. */
  const variant = async (at: SideName, unit: ChangedUnit): Promise<DecidingSide | null> => {
    const { rows, policy } = unit;
    const [from, to] = [compiled[at], compiled[OTHER_SIDE[at]]];
    const [fromTree, toTree] = [trees[at], trees[OTHER_SIDE[at]]];
    let table: RoutingTable | null = from.table;
    if (rows.length > 0 && fromTree !== null && toTree !== null) {
      const tree = treeWith(unit, fromTree, toTree, names[at]);
      // `null` where it has an error, such as a name that is not there.
      const variantTable = compileTree(tree, { policies }, new Findings("routes.yaml"));
      table = variantTable && withRenames(variantTable, renames);
    }
    if (table === null) return null;
    const contents =
      policy === null
        ? from.contents
        : [
            ...from.contents.filter(({ contract }) => contract.id !== policy),
            ...to.contents.filter(({ contract }) => contract.id === policy),
          ].toSorted(byIdThenSlot);
    return sideOf(table, contents);
  };

  const headSide = await sideOf(head.table, head.contents);
  const reverted: (DecidingSide | null)[] = [];
  // One after the other: each may load policies.
  for (const unit of units) {
    reverted.push(
      (await variant("head", unit)) ??
        (await variant(
          "head",
          withRows(unit, units, (other) => needs(other, unit)),
        )),
    );
  }
  const baseSide = await sideOf(base.table, base.contents);
  const applied = new Map<ChangedUnit, Promise<DecidingSide | null>>();
  return {
    base: baseSide,
    head: headSide,
    reverted,
    isRename: (index) => units[index]?.rename != null,
    applied: async (index) => {
      const unit = units[index];
      if (unit === undefined) return null;
      return remembered(applied, unit, () =>
        variant(
          "base",
          withRows(unit, units, (other) => needs(unit, other)),
        ),
      );
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

/**
 * One tree with a unit of the other tree. All other rows keep the names of the one tree.
 *
 * @param renamed names of the other tree, and those of the one tree.
 */
function treeWith(
  { rows, row }: ChangedUnit,
  target: ConfigNode,
  other: ConfigNode,
  renamed: readonly RowRename[],
): ConfigNode {
  const isRowRename = ({ kind, from, to }: RowRename) =>
    row !== null &&
    kind === row.kind &&
    [from, to].every((name) => name === row.from || name === row.to);
  const alike = renamedTree(
    other,
    renamed.filter((one) => !isRowRename(one)),
  );
  const tree = structuredClone(renamedTree(target, renamed.filter(isRowRename).map(reversed)));
  for (const { path } of rows)
    if (row === null || path.length === 2)
      putMember(tree, path, structuredClone(memberAt(alike, path)));
  return tree;
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
}

/**
 * Makes sides that differ from one side in a few entries. Policies are loaded once for all sides
 * with the same contents and data.
 *
 * @param modules every content that a side may have is in one of them.
 */
function sideMaker(modules: CompiledSide["modules"], promoted: readonly string[]) {
  const loaded = new Map<string, Promise<SideViews>>();
  return async (table: RoutingTable, contents: readonly SideContent[]): Promise<DecidingSide> => {
    const key = canonicalJson([policyData(table), slotsOf(contents)]);
    const views = await remembered(loaded, key, () =>
      sideViews({ table, contents, modules }, (id) => promoted.includes(id)),
    );
    const destinations = destinationsOf(table);
    return {
      result: (sample, view, withDestinations) => {
        const { plan, maxCandidates, denial, edits, indeterminate } = outcomeOf(
          decideSample(table, views[view], sample),
        );
        const candidates = plan.map((candidate) => [
          candidate,
          withDestinations ? destinations.get(candidate.endpoint) : undefined,
        ]);
        return JSON.stringify([candidates, maxCandidates, denial, edits, indeterminate]);
      },
      serves: (sample, view) => decideSample(table, views[view], sample).outcome === "route",
    };
  };
}
