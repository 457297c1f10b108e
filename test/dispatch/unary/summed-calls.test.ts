import { expect, it } from "vitest";
import { Siblings, type AttemptReport } from "../../../src/dispatch/attempt.ts";
import { emptyCallLog, fixtureOf } from "./fixture.ts";

it("parts with the same end are one report: the earliest start, the longest duration", () => {
  const [candidate] = fixtureOf([{ id: "a", reply: () => ({ kind: "never" }) }], emptyCallLog()).job
    .plan;
  if (candidate === undefined) throw new Error("no candidate");
  const reportOf = (startedAt: number, duration: number): AttemptReport => ({
    candidate,
    simulated: false,
    proxied: false,
    translated: false,
    failure: null,
    status: 200,
    startedAt,
    duration,
  });
  const siblings = new Siblings(1_000);
  // In the order of their ends.
  for (const [startedAt, duration] of [
    [120, 30],
    [100, 80],
    [150, 60],
  ] as const) {
    siblings.add(reportOf(startedAt, duration));
  }
  expect(siblings.reports()).toEqual([{ ...reportOf(100, 80), calls: 3 }]);
});
