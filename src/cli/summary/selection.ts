import { GROUPED, readGrouping, type Grouping } from "../../governance/dimensions.ts";
import { readWindow, type Window } from "../../governance/window.ts";
import { listItems, readValue, listFlags, textFlags } from "../terminal/arguments.ts";
import type { Store } from "../../store/port.ts";
import { EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { printable, tableRows } from "../terminal/printing.ts";
import { databasePath, withStore } from "../terminal/open-store.ts";

/** The help of the flags that say which requests are counted. */
export const SELECTION_HELP = `  --workspace W     Only this workspace. Default: every workspace, one after the other.
  --start TIME      RFC 3339, such as 2026-11-21T00:00:00Z. Default: a day before the end.
  --end TIME        Default: now. Whole hours are counted.`;

/** The flags that say which requests are counted, and how they are grouped. */
export const SELECTION_FLAGS = {
  ...textFlags("start", "end"),
  ...listFlags("group-by"),
} as const;

interface SelectionValues {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly "group-by"?: readonly string[] | undefined;
}

/** @param of what is grouped. @throws {UsageError} */
export function readSelection(
  values: SelectionValues,
  of: keyof typeof GROUPED,
  now: number,
): { readonly window: Window; readonly grouping: Grouping } {
  const names = (values["group-by"] ?? []).flatMap((list) => listItems(list));
  const grouping = readGrouping(
    names.map((name) => readValue("--group-by", name, GROUPED[of].dimensions)),
    of,
  );
  if ("problem" in grouping) throw usage(grouping.problem);
  const window = readWindow(values.start ?? null, values.end ?? null, now, grouping.time);
  if ("problem" in window) throw usage(window.problem);
  return { window, grouping };
}

/**
 * Prints what is counted of the workspace that is named, or of each that has counts, one after the
 * other. @param print gives the text of one.
 */
export async function printWorkspaces(
  values: { readonly workspace?: string | undefined; readonly database?: string | undefined },
  io: CommandIo,
  print: (store: Store, workspace: string | null) => Promise<string>,
): Promise<number> {
  return await withStore(databasePath(values.database, io), false, async (store) => {
    const workspaces =
      values.workspace === undefined ? await store.summary.workspaces() : [values.workspace];
    for (const workspace of workspaces) io.stdout(await print(store, workspace));
    if (workspaces.length === 0) io.stderr("signalbox: nothing has been counted yet\n");
    return EXIT.ok;
  });
}

/** What a table of a workspace's counts shows. */
interface CountedGroups {
  readonly workspace: string | null;
  readonly window: { readonly start: string; readonly end: string };
  /** What is grouped by. */
  readonly names: readonly string[];
  readonly head: readonly string[];
  readonly total: readonly string[];
  /** Labels of a group and its counts. */
  readonly groups: readonly (readonly string[])[];
  readonly truncated: boolean;
}

/** A line of totals, and one for each group. @param remark behind the window. */
export function groupLines(counted: CountedGroups, remark: string): readonly string[] {
  const { workspace, window, names, head, total, groups, truncated } = counted;
  const labels = names.length === 0 ? [""] : names;
  const first = ["total", ...labels.slice(1).map(() => ""), ...total];
  return [
    `${workspace ?? "(no workspace)"}  ${window.start} to ${window.end}, ${remark}`,
    ...tableRows([[...labels, ...head], first, ...groups], labels.length),
    ...(truncated ? [`(the ${groups.length} groups with the most requests; there are more)`] : []),
  ];
}

/** Lines as the text of one workspace. */
export function workspaceText(lines: readonly string[]): string {
  return `${lines.map((line) => printable(line).trimEnd()).join("\n")}\n\n`;
}

/** The core names the member of a query; the user of a terminal looks for the flag. */
function usage(problem: string): UsageError {
  return new UsageError(
    problem.replace(/^(\w+) /, (_, member: string) => `--${member.replaceAll("_", "-")}: `),
  );
}
