import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import type { ChangeGroup } from "../../../../simulate/report/report.ts";
import { listText } from "../../../terminal/amounts.ts";

/** Requests that base refuses because they name a provider or region that it does not have: what they reach now, others reached before. */
export function isNewName({ base, head }: ChangeGroup): boolean {
  return base.denial?.reason === "unknown_preference" && head.denial === null;
}

/** The reverse: requests that name what head does not have. */
export function isOldName({ base, head }: ChangeGroup): boolean {
  return head.denial?.reason === "unknown_preference" && base.denial === null;
}

/** "requests that name region eu-south are served; base refuses the name". */
export function newNameText(group: ChangeGroup): string {
  return `requests that name ${namesText(group, "a new provider or region")} are served; base refuses the name`;
}

export function oldNameText(group: ChangeGroup, { renames }: Pick<CauseReport, "renames">): string {
  const former = renames.find(({ kind }) => kind === "provider" || kind === "region_group");
  return `requests that name ${namesText(group, former?.from ?? "a provider or region that is gone")} are refused`;
}

const LISTS = ["only", "ignore", "region", "order"];

function namesText(group: ChangeGroup, unknown: string): string {
  const names = group.conditions.flatMap(({ dimension, values }) => {
    if (!LISTS.includes(dimension)) return [];
    const own = inAll(values.map((value) => value.split(/ or | then |, /)));
    return own.length === 0 ? [] : [`${dimension} ${listText(own, 3)}`];
  });
  return names.length === 0 ? unknown : names.join(", ");
}

function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  return first.filter((name) => others.every((list) => list.includes(name)));
}
