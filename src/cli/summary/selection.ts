import { GROUPED, readGrouping, type Grouping } from "../../governance/dimensions.ts";
import { readWindow, windowTooFine, type Window } from "../../governance/window.ts";
import { listItems, readValue, listFlags, textFlags } from "../terminal/arguments.ts";
import { UsageError } from "../terminal/command-io.ts";

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
  const window = readWindow(values.start ?? null, values.end ?? null, now);
  if ("problem" in window) throw usage(window.problem);
  const names = (values["group-by"] ?? []).flatMap((list) => listItems(list));
  const grouping = readGrouping(
    names.map((name) => readValue("--group-by", name, GROUPED[of].dimensions)),
    of,
  );
  if ("problem" in grouping) throw usage(grouping.problem);
  const tooFine = windowTooFine(window, grouping.time);
  if (tooFine !== null) throw usage(tooFine);
  return { window, grouping };
}

/** The core names the member of a query; the user of a terminal looks for the flag. */
function usage(problem: string): UsageError {
  return new UsageError(problem.replace(/^(\w+) /, (_, member: string) => `--${member.replaceAll("_", "-")}: `));
}
