import type { ChangedEntry } from "../../../../simulate/report/cause-report.ts";
import type { ReportModel } from "../model.ts";

/** What differs of the assertions, and whether they accept more than before. */
export function assertionText(
  { path, change, before, after }: ChangedEntry,
  { changed_settings: settings, assertions }: Pick<ReportModel, "changed_settings" | "assertions">,
): string {
  const values = `${before ?? "not set"} → ${after ?? "not set"}`;
  const isWeaker = settings.find((setting) => setting.path === path)?.gate === "assertions";
  const more = isWeaker ? "accepts more than before" : "accepts no more than before";
  const [section, id = "", member] = path.split(".");
  if (section === "coverage") {
    const what = id === "except" ? "exceptions of coverage" : `coverage gate of ${id.replaceAll("_", " ")}`;
    return `${what}: ${values}${isWeaker ? "; it demands less than before" : ""}`;
  }
  if (section !== "assertions") {
    if (change === "added") return `${path} is new`;
    return change === "removed"
      ? `${path} is removed${assertions === null ? "" : "; this change is still held against it"}`
      : `${path} is changed`;
  }
  if (member === undefined) {
    // What it demands is in the details; its title says it in words.
    const title = /\btitle: "?(.*?)"?(?:, \w+: | \}$|$)/.exec(after ?? before ?? "")?.[1];
    return `assertion ${id} is ${change === "added" ? "new" : "removed"}${title === undefined ? "" : `: "${title}"`}`;
  }
  if (member === "title") return `title of assertion ${id}: ${values}`;
  return `assertion ${id} ${isWeaker ? "is weakened" : "is changed"}, it ${more}: ${member} ${values}`;
}
