import type { ChangeGroup } from "../../../../simulate/report/report.ts";
import { listText } from "../../../terminal/amounts.ts";

/** Requests that base refuses because they name a provider or region that it does not have: what they reach now, others reached before. */
export function isNewName({ base, head }: ChangeGroup): boolean {
  return base.denial?.reason === "unknown_preference" && head.denial === null;
}

const LISTS = ["only", "ignore", "region", "order"];

/** "requests that name region eu-south are served; base refuses the name". */
export function newNameText(group: ChangeGroup): string {
  const names = group.conditions.flatMap(({ dimension, values }) => {
    if (!LISTS.includes(dimension)) return [];
    const own = inAll(values.map((value) => value.split(/ or |, /)));
    return own.length === 0 ? [] : [`${dimension} ${listText(own, 3)}`];
  });
  const what = names.length === 0 ? "a new provider or region" : names.join(", ");
  return `requests that name ${what} are served; base refuses the name`;
}

function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  return first.filter((name) => others.every((list) => list.includes(name)));
}
