import type { RoutingTable } from "../../canon/table.ts";
import type { ConfigNode } from "../../compile/authored/tree.ts";
import type { RowRename } from "../renames/renamed-table.ts";
import { withRenames, type FoundRename } from "../renames/renames.ts";
import { type CompiledSide, type CompiledSides, byIdThenSlot } from "../side-contents.ts";
import type { Variants } from "./attribute.ts";
import type { SideTrees } from "./changed-entries.ts";
import type { ChangedUnit } from "./changed-units.ts";
import { memberAt, withMember } from "./config-tree.ts";
import { renamedTree } from "./renamed-tree.ts";
import { SideMaker, tableOfTree, type DecidingSide } from "./side-variants.ts";

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
  const maker = new SideMaker([...head.modules, ...base.modules], (id) => promotedPolicies.includes(id));
  const inverse = renamed.map(reversed);
  const undoing = { from: head, to: base, own: trees.head, other: trees.base, renamed, renames };
  const doing = { from: base, to: head, own: trees.base, other: trees.head, renamed: inverse, renames };
  const own = await maker.make(head.table, head.contents);
  const undone: (DecidingSide | null)[] = [];
  // One after the other: each may load policies.
  for (const unit of units) undone.push(await variant(maker, unit, undoing));
  const before = await maker.make(base.table, base.contents);
  const done = new Map<number, Promise<DecidingSide | null>>();
  return {
    base: before,
    head: own,
    undone,
    isRename: (index) => units[index]?.rename != null,
    done: (index) => {
      const unit = units[index];
      const known = done.get(index);
      if (known !== undefined || unit === undefined) return known ?? Promise.resolve(null);
      const made = variant(maker, unit, doing);
      done.set(index, made);
      return made;
    },
  };
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
    const made = tableOfTree(tree, [...new Set([...from.contents, ...to.contents].map(({ contract }) => contract.id))]);
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
 * One tree with a unit as the other tree has it, in the names that the one tree has for everything else.
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
  const isOwn = ({ kind, from, to }: RowRename): boolean =>
    kind === row.kind && [from, to].every((name) => name === row.from || name === row.to);
  const back = renamed.filter(isOwn).map(reversed);
  const alike = renamedTree(
    other,
    renamed.filter((one) => !isOwn(one)),
  );
  const paths = rows.filter(({ path }) => path.length === 2).map(({ path }) => path);
  return paths.reduce((all, path) => withMember(all, path, memberAt(alike, path)), renamedTree(own, back));
}

function reversed({ kind, from, to }: RowRename): RowRename {
  return { kind, from: to, to: from };
}
