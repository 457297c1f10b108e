import { remembered } from "../remembered.ts";
import { explainArguments } from "../explain/explain-arguments.ts";
import type { SampleRequest } from "../sample-request.ts";
import type {
  CauseReport,
  ChangedEntry,
  ChangeGroup,
  SettingChange,
  SimulationReport,
} from "./report.ts";

/** A report may have thousands of causes, groups and settings: each list is searched once. */
const positions = new WeakMap<readonly ChangeGroup[], ReadonlyMap<string, number>>();
const settingsByPath = new WeakMap<
  readonly SettingChange[],
  ReadonlyMap<string, readonly SettingChange[]>
>();

/** Groups of a cause under each view, in the order of the report. */
export function groupsOfCause(
  { groups, promoted_groups: later }: CauseReport,
  { declared, promoted }: Pick<SimulationReport, "declared" | "promoted">,
): readonly { readonly group: ChangeGroup; readonly promoted: boolean }[] {
  const of = (all: readonly ChangeGroup[], ids: readonly string[], isLater: boolean) => {
    const indexById = remembered(
      positions,
      all,
      () => new Map(all.map(({ id }, index) => [id, index] as const)),
    );
    return [...new Set(ids)]
      .flatMap((id) => indexById.get(id) ?? [])
      .toSorted((left, right) => left - right)
      .flatMap((index) => all[index] ?? [])
      .map((group) => ({ group, promoted: isLater }));
  };
  return [
    ...of(declared.groups, groups, false),
    ...of(promotedGroups({ declared, promoted }), later, true),
  ];
}

const addedGroups = new WeakMap<object, readonly ChangeGroup[]>();

/**
 * Groups that promotion makes. Of those that it makes larger only the workspaces and routes that it
 * adds, or the whole group where it adds other requests of the same ones.
 */
export function promotedGroups({
  declared,
  promoted,
}: Pick<SimulationReport, "declared" | "promoted">): readonly ChangeGroup[] {
  return remembered(addedGroups, promoted, () => {
    const before = new Map(declared.groups.map((group) => [group.id, group]));
    return promoted.groups.flatMap((group) => {
      const earlier = before.get(group.id);
      if (earlier === undefined) return [group];
      const members = addedMembers(group, earlier);
      if (members.length > 0) return [partOf(group, earlier, members)];
      const isLarger =
        group.classes > earlier.classes || BigInt(group.shapes) > BigInt(earlier.shapes);
      return isLarger ? [group] : [];
    });
  });
}

type Members = NonNullable<ChangeGroup["members"]>;

/** The workspaces of a group, each with the routes that it requests. */
export function membersOf({ members, workspaces, routes }: ChangeGroup): Members {
  return members ?? workspaces.map((workspace) => ({ workspace, routes }));
}

function addedMembers(group: ChangeGroup, earlier: ChangeGroup): Members {
  const [all, old] = [membersOf(group), membersOf(earlier)];
  if (JSON.stringify(all) === JSON.stringify(old)) return [];
  const before = new Map(old.map(({ workspace, routes }) => [workspace, new Set(routes)]));
  return all.flatMap(({ workspace, routes }) => {
    const added = routes.filter((route) => before.get(workspace)?.has(route) !== true);
    return added.length === 0 ? [] : [{ workspace, routes: added }];
  });
}

function partOf(group: ChangeGroup, earlier: ChangeGroup, members: Members): ChangeGroup {
  const [{ workspace, routes: [model = ""] } = { workspace: "", routes: [] }] = members;
  return {
    ...withExample(group, { ...group.example, workspace, model }),
    members,
    workspaces: members.map((member) => member.workspace),
    routes: [...new Set(members.flatMap(({ routes }) => routes))].toSorted(),
    seen: group.seen === null ? null : group.seen - (earlier.seen ?? 0),
    seen_usage: null,
  };
}

/** A group with another of its requests as the example. */
export function withExample(group: ChangeGroup, example: SampleRequest): ChangeGroup {
  const [replacement, former] = [explainArguments(example), explainArguments(group.example)];
  return { ...group, example, explain: [...replacement, ...group.explain.slice(former.length)] };
}

/** Settings of an entry, and those below it. */
export function settingsOf(
  { path }: ChangedEntry,
  settings: readonly SettingChange[],
): readonly SettingChange[] {
  const byPath = remembered(settingsByPath, settings, () => {
    const found = new Map<string, SettingChange[]>();
    for (const setting of settings) {
      const names = setting.path.split(".");
      for (const index of names.keys())
        remembered(found, names.slice(0, index + 1).join("."), () => []).push(setting);
    }
    return found;
  });
  return byPath.get(path) ?? [];
}

/** Whether a cause changes only text or the order of a list, and no request. */
export function isWithoutEffect({ entries, groups, promoted_groups: later }: CauseReport): boolean {
  return (
    groups.length + later.length === 0 &&
    entries.length > 0 &&
    entries.every(({ only }) => only !== undefined)
  );
}
