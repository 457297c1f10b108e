import type {
  ReachedDestination,
  RoutePath,
  SettingChange,
  SideLocation,
} from "../../../../simulate/report/report.ts";
import { SETTING_EFFECTS } from "../../../../simulate/settings/setting-effect.ts";
import { amountText, listText } from "../../../terminal/printing.ts";

/**
 * Characters of one side of a change; what both sides begin and end with is left out of longer
 * ones.
 */
const LONGEST_VALUE = 90;
const CONTEXT = 24;

/** A setting that differs, in parts. */
interface SettingText {
  readonly mark: "+" | "-" | "~";
  readonly path: string;
  /** `https://a.example/v1 → https://b.example/v1` */
  readonly values: string;
  /** Why no class shows it, or which gate it meets; empty where it decides. */
  readonly note: string;
}

export function settingText(change: SettingChange): SettingText {
  const { path, before, after, effect, gate } = change;
  const [was, is] = shortened(before ?? "not set", after ?? "not set");
  const notes = [effect === "decides" ? "" : SETTING_EFFECTS[effect].sentence, gate ?? ""].filter(
    (note) => note !== "",
  );
  return {
    mark: before === null ? "+" : after === null ? "-" : "~",
    path,
    values: `${was} → ${is}`,
    note: notes.join("; "),
  };
}

/** Without what is the same on both sides, so that the difference of long values is seen. */
function shortened(before: string, after: string): readonly [string, string] {
  if (before.length <= LONGEST_VALUE && after.length <= LONGEST_VALUE) return [before, after];
  // By characters: half of one cannot be printed.
  const [was, is] = [Array.from(before), Array.from(after)];
  const least = Math.min(was.length, is.length);
  let start = 0;
  while (start < least && was[start] === is[start]) start += 1;
  let end = 0;
  while (end < least - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  const part = (all: readonly string[]): string => {
    const [from, to] = [
      Math.max(0, start - CONTEXT),
      Math.min(all.length, all.length - end + CONTEXT),
    ];
    const shown = all.slice(from, Math.min(to, from + 2 * LONGEST_VALUE));
    return `${from > 0 ? "…" : ""}${shown.join("")}${from + shown.length < all.length ? "…" : ""}`;
  };
  return [part(was), part(is)];
}

function locationText({ file, line, column, side }: SideLocation): string {
  return `${file}:${line}:${column}${side === "base" ? " in base" : ""}`;
}

/** "openai-us in us", with both hosts where the provider's host differs. */
export function destinationText({
  provider,
  region,
  host,
  other_host: other,
}: ReachedDestination): string {
  return `${provider} in ${region}${other === null ? "" : ` at ${host} (${other} on the other side)`}`;
}

export const ROUTE_PATHS_TITLE = "Routes that reach a new destination";

/** "chat-eu for shop → openai-us in us (4 operations)" */
export function routePathText(path: RoutePath): string {
  const { route, workspace, operations, location } = path;
  const what =
    operations.length > 2 ? amountText(operations.length, "operation") : listText(operations);
  const where = location === null ? "" : `, ${locationText(location)}`;
  return `${route === "" ? "(no model)" : route} for ${workspace} → ${destinationText(path)} (${what})${where}`;
}
