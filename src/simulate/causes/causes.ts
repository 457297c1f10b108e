import type {
  CandidateReport,
  CauseReport,
  ChangedEntry,
  ChangeGroup,
  ComparisonReport,
  DestinationReport,
  Rename,
  SideLocation,
} from "../report/report.ts";
import { promotedGroups } from "../report/cause-parts.ts";
import { CHANGES } from "../change-kind.ts";
import type { ReportedSide } from "../request.ts";
import type { CompiledSide, CompiledSides, SideContent } from "../side-contents.ts";
import type { FoundRename } from "../renamed-table.ts";
import { treeEntries } from "./changed-entries.ts";
import { treeOf } from "./config-tree.ts";
import { type ChangedUnit, changedUnits, needs } from "./changed-units.ts";
import { renamedRows } from "./renamed-entries.ts";
import { type DecidingSide, type Variants, variantsOf } from "./unit-variants.ts";
import {
  conditionCount,
  type OfSides,
  OTHER_SIDE,
  type SampleRequest,
  type SideName,
  type View,
} from "../sample-request.ts";
import type { ProviderPreferences } from "../../canon/request.ts";
import { textDigest } from "../text-digest.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { rowOf } from "../table-rows.ts";
import { basename, dirname } from "node:path/posix";
import type { Source } from "../../canon/diagnostic.ts";

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
  const causeOf = (causeUnits: readonly ChangedUnit[], causeGroups: readonly ViewedGroup[]) =>
    causeReport(causeUnits, causeGroups, exceptions, question);
  const causes = joined(units, found).map(({ members, groups: indices }) =>
    causeOf(
      members.flatMap((index) => units[index] ?? []),
      indices.flatMap((index) => groups[index] ?? []),
    ),
  );
  const alone = others.map((entry) =>
    causeOf([{ entries: [entry], rows: [], policy: null, rename: null, row: null }], []),
  );
  const unexplained = groups.filter((_group, index) => (found[index]?.units.size ?? 0) === 0);
  const unknown = unexplained.length === 0 ? [] : [causeOf([], unexplained)];
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
    for (const [other, otherUnit] of units.entries())
      if (index !== other && needs(unit, otherUnit)) join(index, other);
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
    .flatMap(({ row, entries: unitEntries }) =>
      unitEntries.map((entry) => ({ entry, rank: row === null ? importance(entry) : -1 })),
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
  const ids = new Set([...groups, ...more]);
  const ranks = [...declared.groups, ...promoted.groups]
    .filter(({ id }) => ids.has(id))
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

/** A group under the view in which it was found. */
interface ViewedGroup {
  readonly group: ChangeGroup;
  readonly view: View;
}

/**
 * Decisions for the search of causes. A reader waits for them, and the first examples of a group
 * nearly always show its causes.
 */
const MOST_DECISIONS = 6_000;
/** Requests of one group that are tried: another workspace of the group may have another cause. */
const MOST_SAMPLES = 24;

/** Indices of units. */
interface Attribution {
  /** Units without which requests of the group would get another result; empty: not found. */
  readonly units: ReadonlySet<number>;
  /** Of each request that was tried the units that its change needs together. */
  readonly together: readonly (readonly number[])[];
}

/**
 * The units that each group follows from, in the order of the groups. Where two units have the same
 * effect, so that neither is needed, those that alone have an effect on base.
 */
export async function attribute(
  groups: readonly ViewedGroup[],
  variants: Variants,
): Promise<readonly Attribution[]> {
  const { length: units } = variants.reverted;
  if (units === 1) return groups.map(() => attribution([0], []));
  let budget = MOST_DECISIONS;
  const found: Attribution[] = [];
  for (const { group, view } of groups) {
    const causes = new Set<number>();
    const linked: (readonly number[])[] = [];
    for (const sample of samplesOf(group)) {
      if (budget <= 0) break;
      budget -= units;
      const { units: changed, together } = await causesOfSample(sample, group, view, variants);
      for (const unit of changed) causes.add(unit);
      linked.push(...together);
    }
    found.push({ units: causes, together: linked });
  }
  return found;
}

function attribution(units: readonly number[], together: readonly number[]): Attribution {
  return { units: new Set(units), together: [together] };
}

async function causesOfSample(
  sample: SampleRequest,
  { kinds }: ChangeGroup,
  view: View,
  { base, head, reverted, applied, isRename }: Variants,
): Promise<Attribution> {
  // Another version of a model is no reason why a request is allowed.
  const changesDestination = kinds.includes("destination_changed");
  const resultOf = (side: DecidingSide) => side.result(sample, view, changesDestination);
  const [was, is] = [resultOf(base), resultOf(head)];
  // A workspace and a route of one group need not be together in any of its requests.
  if (was === is) return attribution([], []);
  const results = reverted.map((side) => (side === null ? is : resultOf(side)));
  const needed = [...results.keys()].filter((unit) => results[unit] !== is);
  if (needed.length > 0) {
    // Another reason for a denial is counted only, and joins no causes.
    if (kinds.every((kind) => kind === "reason_changed")) return attribution(needed, []);
    // Units that each alone restore base's result are conditions of one change. Others only change
    // what a newly served request gets.
    const servedInBase = base.serves(sample, view);
    const restoring = needed.filter(
      (unit) =>
        results[unit] === was || (!servedInBase && reverted[unit]?.serves(sample, view) === false),
    );
    if (restoring.length === 0) return attribution(needed, needed);
    return attribution(servedInBase ? needed : restoring, restoring);
  }
  const enough: number[] = [];
  for (const unit of reverted.keys()) {
    const side = await applied(unit);
    if (side !== null && resultOf(side) !== was) enough.push(unit);
  }
  // Two former names in one request are each refused alone: that does not make them one change.
  const first = enough.find(isRename);
  const causes = first === undefined ? enough : [first];
  return attribution(causes, causes);
}

/** The example, then one request of each other workspace and route. */
function samplesOf({ example, workspaces, routes }: ChangeGroup): readonly SampleRequest[] {
  return [
    example,
    ...workspaces.flatMap((workspace) =>
      workspace === example.workspace ? [] : [{ ...example, workspace }],
    ),
    ...routes.flatMap((model) => (model === example.model ? [] : [{ ...example, model }])),
  ].slice(0, MOST_SAMPLES);
}

/** The facts of the tables that a reader needs to judge a cause. */
function causeFacts(
  entries: readonly ChangedEntry[],
  groups: readonly ChangeGroup[],
  { base, head }: CompiledSides,
): Pick<CauseReport, "gains" | "loses" | "routes" | "unaffected" | "without_routes"> {
  const routeIds = entries.flatMap(({ kind, subject }) => (kind === "route" ? [subject] : []));
  const noticed = plainGroups(groups);
  const routes = [
    ...new Set([...routeIds, ...noticed.flatMap((group) => group.routes)]),
  ].toSorted();
  const gains = onlyIn(groups, "head", head.table);
  const rows = routes.flatMap((id) => {
    const row = rowOf(head.table.routes, id) ?? rowOf(base.table.routes, id);
    if (row === undefined) return [];
    const primary = destination(row.primary, head.table) ?? destination(row.primary, base.table);
    const former = rowOf(base.table.routes, id)?.primary ?? row.primary;
    const was = former === row.primary ? null : destination(former, base.table);
    return [{ id, title: row.title, primary, ...(was !== null && { former_primary: was }) }];
  });
  const affected = new Set(noticed.flatMap(({ workspaces }) => workspaces));
  const approving = Object.values(head.table.workspaces).filter(({ approve }) =>
    approve.routes.some((route) => routes.includes(route)),
  );
  const unaffected = approving
    .filter(({ id }) => !affected.has(id))
    .map(({ id, approve }) => ({ workspace: id, why: notApproved(approve, gains) }));
  const explained = new Set([...affected, ...approving.map(({ id }) => id)]);
  return {
    gains,
    loses: onlyIn(groups, "base", base.table),
    routes: rows,
    unaffected: routes.length === 0 ? [] : unaffected,
    without_routes: Object.keys(head.table.workspaces).filter((id) => !explained.has(id)).length,
  };
}

/**
 * Groups of plain requests that notice something; of all requests where none is plain. Another
 * reason for the same denial is nothing to notice.
 */
function plainGroups(groups: readonly ChangeGroup[]): readonly ChangeGroup[] {
  const noticed = groups.filter(({ kinds }) => kinds.some((kind) => kind !== "reason_changed"));
  const fewest = Math.min(...noticed.map(({ example }) => conditionCount(example)));
  return noticed.filter(({ example }) => conditionCount(example) === fewest);
}

/**
 * Endpoints that plain requests of the groups reach on one side only, or there at another provider
 * or in another region, in the order of the tables;
 * of any request where none is plain. A request for one provider by name may be served anew by
 * endpoints that everybody else reached before.
 */
function onlyIn(
  groups: readonly ChangeGroup[],
  side: SideName,
  table: RoutingTable,
): readonly DestinationReport[] {
  const ids = new Set(
    plainGroups(groups).flatMap((group) => {
      // The side that has the name serves these requests like all others.
      if (group[OTHER_SIDE[side]].denial?.reason === "unknown_preference") return [];
      const there = new Set(group[OTHER_SIDE[side]].plan.map(processorOf));
      return group[side].plan.flatMap((candidate) =>
        there.has(processorOf(candidate)) ? [] : [candidate.endpoint],
      );
    }),
  );
  return Object.keys(table.endpoints).flatMap((id) =>
    ids.has(id) ? (destination(id, table) ?? []) : [],
  );
}

function processorOf({ endpoint, provider, region }: CandidateReport) {
  return [endpoint, provider, region].join("\n");
}

function destination(id: string, table: RoutingTable): DestinationReport | null {
  const row = rowOf(table.endpoints, id);
  const provider = row === undefined ? undefined : rowOf(table.providers, row.provider);
  if (row === undefined || provider === undefined) return null;
  return {
    endpoint: id,
    model: row.model,
    provider: row.provider,
    region: row.region,
    host: URL.parse(provider.baseUrl)?.host ?? "",
    retention: provider.retention,
    trains_on_data: provider.trainsOnData,
    price: row.price && {
      input: row.price.input,
      output: row.price.output,
      request: row.price.request,
    },
    context_window: rowOf(table.models, row.model)?.contextWindow ?? null,
  };
}

function notApproved(
  { regions, providers }: RoutingTable["workspaces"][string]["approve"],
  gains: readonly DestinationReport[],
): string | null {
  if (gains.length === 0) return null;
  const region = gains.find((gain) => !regions.includes(gain.region));
  if (region !== undefined) return `${region.region} is not approved`;
  const provider = gains.find((gain) => !providers.includes(gain.provider));
  return provider === undefined ? null : `${provider.provider} is not approved`;
}

/** Whether both results of a group are the same but for names that were changed. */
function differsByName({ base, head }: ChangeGroup, renames: readonly Rename[]): boolean {
  if (renames.length === 0 || base.denial !== null || head.denial !== null) return false;
  const nameOf = (kind: Rename["kind"], name: string) =>
    renames.find((rename) => rename.kind === kind && rename.from === name)?.to ?? name;
  const renamed = (candidate: CandidateReport): CandidateReport => ({
    ...candidate,
    endpoint: nameOf("endpoint", candidate.endpoint),
    model: nameOf("model", candidate.model),
    provider: nameOf("provider", candidate.provider),
  });
  const before = { ...base, plan: base.plan.map(renamed) };
  return JSON.stringify(before) === JSON.stringify(head);
}

/** The sources of both sides, with the libraries. */
type SideSources = OfSides<readonly Source[]>;

/** Policies whose text differs, that came or went, in the order of their ids. */
function policyEntries(
  { base, head }: CompiledSides,
  sources: SideSources,
): readonly ChangedEntry[] {
  const [before, after] = [filesOf(base), filesOf(head)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .toSorted()
    .flatMap((id): readonly ChangedEntry[] => {
      const [was, is] = [before.get(id), after.get(id)];
      if (was !== undefined && is !== undefined && was.digest === is.digest) return [];
      const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
      const lines = change === "changed" ? changedLines(id, sources) : null;
      return [
        {
          path: `policies/${id}`,
          kind: "policy",
          subject: id,
          change,
          ...(was !== undefined && is !== undefined && isSameRules(was, is, sources)
            ? { only: "text" as const }
            : { title: (is ?? was)?.contract.title ?? id }),
          before: lines?.before ?? null,
          after: lines?.after ?? null,
          location: lines?.location ?? fileStart(id, sources),
        },
      ];
    });
}

/**
 * Each policy of a side's own files: content that head keeps from base, and removals, are not of
 * its files.
 */
function filesOf({ contents }: CompiledSide): ReadonlyMap<string, SideContent> {
  const filePolicies = contents.filter(({ isKept, rules }) => !isKept && rules !== null);
  return new Map(filePolicies.map((content) => [content.contract.id, content]));
}

function sourceOf(sources: readonly Source[], id: string) {
  return sources.find((source) => basename(source.path) === `${id}.rego` && !isLibrary(source));
}

function isLibrary({ path }: Source) {
  return basename(dirname(path)) === "lib";
}

function fileStart(id: string, sources: SideSources): SideLocation | null {
  for (const side of ["head", "base"] as const) {
    const source = sourceOf(sources[side], id);
    if (source !== undefined) return { file: source.path, line: 1, column: 1, side };
  }
  return null;
}

interface ChangedLines {
  readonly before: string | null;
  readonly after: string | null;
  readonly location: SideLocation;
}

/**
 * The first line that differs in the policy's file, or in a library where its own file is the same.
 * Comments count only where nothing else differs.
 */
function changedLines(id: string, { base, head }: SideSources): ChangedLines | null {
  const policySource = sourceOf(head, id);
  const libraries = head.filter(isLibrary);
  for (const source of policySource === undefined ? libraries : [policySource, ...libraries]) {
    const before = base.find(
      ({ path }) => basename(path) === basename(source.path) && sameFolder(path, source.path),
    );
    if (before === undefined || before.text === source.text) continue;
    return firstDifference(before.text, source);
  }
  return null;
}

/** Whether two contents differ in titles, comments, spacing and the order of rules at most. */
function isSameRules(was: SideContent, is: SideContent, { base, head }: SideSources): boolean {
  const [before, after] = [was, is].map(({ contract }) =>
    JSON.stringify({ ...contract, title: "" }),
  );
  const id = is.contract.id;
  return (
    before === after &&
    head.every((source) => {
      const isUsed = source === sourceOf(head, id) || isLibrary(source);
      const other = base.find(({ path }) => path === source.path);
      return !isUsed || (other !== undefined && rulesOf(other.text) === rulesOf(source.text));
    })
  );
}

/** The rules of a module in alphabetical order, without comments, indentation and empty lines. */
function rulesOf(text: string): string {
  // A string of several lines keeps its spacing.
  if (text.includes("`")) return text;
  const bare = text.replaceAll(/("(?:\\.|[^"\\\n])*")|#.*$/gm, "$1");
  const rules = bare.split(/(?:\r\n?|\n)(?=[^\s})\]])(?!else\b)/);
  const trimmed = rules.map((rule) => rule.replaceAll(/\s*[\r\n]\s*/g, "\n").trim());
  return trimmed.toSorted().join("\n").trim();
}

function sameFolder(left: string, right: string) {
  return basename(dirname(left)) === basename(dirname(right));
}

/**
 * Where exactly one line was replaced by one, both are quoted: such a change is read without
 * opening the file.
 */
function firstDifference(text: string, { path, text: now }: Source): ChangedLines {
  const [was, is] = [text.split(/\r\n?|\n/), now.split(/\r\n?|\n/)];
  const first = is.findIndex((line, index) => line !== was[index]);
  const start = first === -1 ? is.length - 1 : first;
  let tail = 0;
  while (tail < Math.min(was.length, is.length) - start && was.at(-1 - tail) === is.at(-1 - tail))
    tail += 1;
  const [removed, added] = [was.slice(start, was.length - tail), is.slice(start, is.length - tail)];
  const quoted = removed.length <= 1 && added.length <= 1;
  return {
    before: quoted ? (removed[0]?.trim() ?? null) : null,
    after: quoted ? (added[0]?.trim() ?? null) : null,
    location: { file: path, line: start + 1, column: 1, side: "head" },
  };
}
