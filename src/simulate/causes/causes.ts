import type { CauseReport, ChangedEntry, ComparisonReport } from "../report/report.ts";
import { promotedGroups } from "../report/cause-parts.ts";
import { CHANGES } from "../change-kind.ts";
import type { ReportedSide } from "../request.ts";
import type { CompiledSides } from "../side-contents.ts";
import { attribute, type Attribution, type ViewedGroup } from "./attribute.ts";
import type { FoundRename } from "../renamed-table.ts";
import { treeEntries } from "./changed-entries.ts";
import { treeOf } from "./config-tree.ts";
import { changedUnits, needs, type ChangedUnit } from "./changed-units.ts";
import { policyEntries } from "./policy-entries.ts";
import { causeFacts, differsByName } from "./cause-facts.ts";
import { renamedRows } from "./renamed-entries.ts";
import { variantsOf, type DecidingSide } from "./unit-variants.ts";
import { type OfSides, conditionCount } from "../sample-request.ts";
import type { ProviderPreferences } from "../../canon/request.ts";
import { textDigest } from "../text-digest.ts";

/** Input of the search for causes. */
interface CauseQuestion extends OfSides<ReportedSide> {
  readonly compiled: CompiledSides;
  readonly declared: ComparisonReport;
  readonly promoted: ComparisonReport;
  /** Policies that count as promoted. */
  readonly promotedPolicies: readonly string[];
  /** Of rows of base, whose table has those that no policy can distinguish under both names. */
  readonly renames: readonly FoundRename[];
  /** Assertions and overlays that differ: no request shows them. */
  readonly others: readonly ChangedEntry[];
}

/**
 * Every changed entry of the files with the groups that follow from it. Entries that only together
 * lead to a group are one cause. The worst comes first; entries without any group follow, and
 * groups without a cause come last, under a cause without entries.
 */
export async function causesOf(question: CauseQuestion): Promise<readonly CauseReport[]> {
  const { base, head, compiled, others } = question;
  const trees = { base: treeOf(base.files), head: treeOf(head.files) };
  const rows = treeEntries(trees, { base: base.files.routes.path, head: head.files.routes.path });
  const sources = { base: base.files.policies, head: head.files.policies };
  const renamed = renamedRows(rows, trees.base, question.renames);
  const units = changedUnits(rows, policyEntries(compiled, sources), renamed);
  // As declared, and those that promotion alone makes, or makes larger.
  const groups: readonly ViewedGroup[] = [
    ...question.declared.groups.map((group) => ({ group, view: "declared" }) as const),
    ...promotedGroups(question).map((group) => ({ group, view: "promoted" }) as const),
  ];
  const variants =
    groups.length === 0 || units.length === 0
      ? null
      : await variantsOf(units, { ...question, trees, renamed });
  const found = variants === null ? [] : await attribute(groups, variants);
  const exceptions = variants === null ? [] : exceptionsOf(groups, variants.head);
  const causeOf = (own: readonly ChangedUnit[], its: readonly ViewedGroup[]) =>
    causeReport(own, its, exceptions, question);
  const causes = joined(units, found).map(({ members, groups: own }) =>
    causeOf(
      members.flatMap((index) => units[index] ?? []),
      own.flatMap((index) => groups[index] ?? []),
    ),
  );
  const alone = others.map((entry) =>
    causeOf([{ entries: [entry], rows: [], policy: null, rename: null, row: null }], []),
  );
  const lost = groups.filter((_group, index) => (found[index]?.units.size ?? 0) === 0);
  const unknown = lost.length === 0 ? [] : [causeOf([], lost)];
  return [
    ...causes.toSorted((left, right) => rankOf(left, question) - rankOf(right, question)),
    ...alone,
    ...unknown,
  ];
}

interface Joined {
  readonly members: readonly number[];
  readonly groups: readonly number[];
}

/** Units that some group needs together, and rows with what names them, are one cause. */
function joined(units: readonly ChangedUnit[], found: readonly Attribution[]): readonly Joined[] {
  const first = units.map((_unit, index) => index);
  const rootOf = (index: number): number => {
    const above = first[index] ?? index;
    return above === index ? index : rootOf(above);
  };
  const join = (left: number, right: number) => {
    const [one, other] = [rootOf(left), rootOf(right)].toSorted((a, b) => a - b);
    if (one !== undefined && other !== undefined) first[other] = one;
  };
  for (const [some, ...others] of found.flatMap(({ together }) => together)) {
    if (some !== undefined) for (const other of others) join(some, other);
  }
  for (const [index, unit] of units.entries()) {
    for (const [other, named] of units.entries())
      if (index !== other && needs(unit, named)) join(index, other);
  }
  const roots = Map.groupBy(units.keys(), rootOf);
  return [...roots.values()].map((members) => ({
    members,
    groups: [...found.keys()].filter((group) =>
      members.some((member) => found[group]?.units.has(member) === true),
    ),
  }));
}

/** Order for readers: destinations, then access, then settings. */
const IMPORTANCE: readonly ChangedEntry["kind"][] = [
  "route",
  "policy",
  "workspace",
  "provider",
  "endpoint",
  "model",
  "region_group",
];

function importance({ kind }: ChangedEntry): number {
  const index = IMPORTANCE.indexOf(kind);
  return index === -1 ? IMPORTANCE.length : index;
}

function causeReport(
  units: readonly ChangedUnit[],
  groups: readonly ViewedGroup[],
  exceptions: CauseReport["exceptions"],
  question: CauseQuestion,
): CauseReport {
  const renames = units.flatMap(({ rename }) => rename ?? []);
  // The row itself comes before the members of a renamed row.
  const entries = units
    .flatMap(({ row, entries: own }) =>
      own.map((entry) => ({ entry, rank: row === null ? importance(entry) : -1 })),
    )
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ entry }) => entry);
  const text = JSON.stringify(entries.map(({ path, change }) => [path, change]));
  const idsOf = (view: ViewedGroup["view"]) =>
    groups.filter((each) => each.view === view).map(({ group }) => group.id);
  return {
    id: textDigest(text),
    entries,
    renames,
    groups: idsOf("declared"),
    promoted_groups: idsOf("promoted"),
    renamed_groups: groups
      .filter(({ group }) => differsByName(group, renames))
      .map(({ group }) => group.id),
    exceptions: exceptions.filter(({ group: id }) => groups.some(({ group }) => group.id === id)),
    ...causeFacts(
      entries,
      groups.map(({ group }) => group),
      question.compiled,
    ),
  };
}

/** Of its worst group; causes without groups come last. */
function rankOf(
  { groups, promoted_groups: more }: CauseReport,
  { declared, promoted }: CauseQuestion,
): number {
  const own = new Set([...groups, ...more]);
  const ranks = [...declared.groups, ...promoted.groups]
    .filter(({ id }) => own.has(id))
    .flatMap(({ kinds }) => kinds.map((kind) => CHANGES[kind].rank));
  return Math.min(...ranks, Number.MAX_SAFE_INTEGER);
}

/**
 * The preferences with which requests are still served whose plain form head denies and base
 * serves: a reader who sees "refused" has to know which callers it does not refuse. Each preference
 * is decided alone, on head.
 */
function exceptionsOf(
  groups: readonly ViewedGroup[],
  head: DecidingSide,
): CauseReport["exceptions"] {
  return groups.flatMap(({ group, view }) => {
    const { id, example, base } = group;
    if (group.head.denial === null || base.denial !== null || conditionCount(example) > 0)
      return [];
    const providers = [...new Set(base.plan.map(({ provider }) => provider))];
    const single: readonly ProviderPreferences[] = [
      { zdr: true },
      { allow_fallbacks: false },
      // With one provider, its name leaves what is there already.
      ...(providers.length < 2 ? [] : providers.map((name) => ({ only: [name] }))),
    ];
    const preferences = single.filter((each) =>
      head.serves({ ...example, preferences: each }, view),
    );
    return preferences.length === 0 ? [] : [{ group: id, preferences }];
  });
}
