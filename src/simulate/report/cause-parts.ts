import { remembered } from "../remembered.ts";
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
    const known = remembered(
      positions,
      all,
      () => new Map(all.map(({ id }, index) => [id, index] as const)),
    );
    return [...new Set(ids)]
      .flatMap((id) => known.get(id) ?? [])
      .toSorted((left, right) => left - right)
      .flatMap((index) => all[index] ?? [])
      .map((group) => ({ group, promoted: isLater }));
  };
  return [...of(declared.groups, groups, false), ...of(promoted.groups, later, true)];
}

/** Settings of an entry, and those below it. */
export function settingsOf(
  { path }: ChangedEntry,
  settings: readonly SettingChange[],
): readonly SettingChange[] {
  const known = remembered(settingsByPath, settings, () => {
    const found = new Map<string, SettingChange[]>();
    for (const setting of settings) {
      const names = setting.path.split(".");
      for (const index of names.keys())
        remembered(found, names.slice(0, index + 1).join("."), () => []).push(setting);
    }
    return found;
  });
  return known.get(path) ?? [];
}

/** Whether a cause changes only text or the order of a list, and no request. */
export function isWithoutEffect({ entries, groups, promoted_groups: later }: CauseReport): boolean {
  return (
    groups.length + later.length === 0 &&
    entries.length > 0 &&
    entries.every(({ only }) => only !== undefined)
  );
}
