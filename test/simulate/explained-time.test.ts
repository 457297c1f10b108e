import { expect, it } from "vitest";
import { fakePolicies, identity, shape, table } from "../support/table.ts";
import { decide } from "../../src/decide/decide.ts";
import { explain } from "../../src/simulate/explain/explanation.ts";

it("an explanation shows the clocks of the zones that policies name, given or computed", () => {
  const policies = { ...fakePolicies(), readsTime: true, zones: ["Europe/Berlin"] };
  const timeOf = (time: Parameters<typeof explain>[0]["time"]) => {
    const requested = { model: "r", preferences: null, shape: shape() };
    const decision = decide(table(), policies, identity, requested, time ?? 0);
    const rest = { identity, question: requested, paths: null, promoted: false };
    return explain({ table: table(), policies, ...rest, time }, decision, null).time;
  };
  const given = { weekday: "friday", hour: 23 } as const;
  const window = { day: "weekday", hour: "evening" } as const;
  const local = { "Europe/Berlin": given, "Asia/Tokyo": given };
  expect(timeOf({ ...window, local })).toEqual({ ...window, local: { "Europe/Berlin": given } });
  expect(timeOf(Date.parse("2026-07-03T21:30:00Z"))).toEqual({
    ...window,
    local: { "Europe/Berlin": given },
  });
  expect(policies.requested.map((input) => input.local_time)).toEqual([
    { "Europe/Berlin": given },
    { "Europe/Berlin": given },
  ]);
});
