import { describe, expect, it } from "vitest";
import {
  answerJson,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";

/** Paths of frozen lists and objects in a record. */
function frozenIn(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, member]) =>
    frozenIn(member, `${path}/${name}`),
  );
  return Object.isFrozen(value) ? [path, ...inside] : inside;
}

describe("the records of a small chat", () => {
  it("have no frozen list, which V8 would serialise in twice the time", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([upstream]) });
    await post(router, hello);
    await router.settled(1);
    expect(router.decisions.flatMap((record) => frozenIn(record))).toEqual([]);
    expect(router.outcomes.flatMap((record) => frozenIn(record))).toEqual([]);
  });
});
