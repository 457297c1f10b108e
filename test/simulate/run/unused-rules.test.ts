import { expect, it } from "vitest";
import { policySource } from "../../policy/samples.ts";
import { endpoint, route, table, workspace } from "../../support/table.ts";
import { sideOf, simulate } from "../small-sides.ts";

/** Requests of an earlier operation use the route: it is no reason to decide these. */
const OPERATIONS = "[messages]";

const GATE = policySource(
  "callers",
  { known: "{effect: gate, reasons: [ONE, TWO]}" },
  `pass.known if input.workspace.tier == "passes"

reason.known := "ONE" if input.workspace.tier == "one"

reason.known := "TWO" if input.workspace.tier == "two"`,
  OPERATIONS,
);
/** Takes away what `WHOLE` rejects, so that `WHOLE` has no effect on this workspace. */
const FILTER = policySource(
  "front",
  { first: "{effect: filter, reasons: [SECOND]}" },
  `pass.first contains candidate.id if {
	some candidate in input.candidates
	input.workspace.tier != "one"
}

pass.first contains "a"`,
  OPERATIONS,
);
const WHOLE = policySource(
  "callers",
  { whole: "{effect: require_all, reasons: [SECOND]}" },
  `pass.whole contains candidate.id if {
	some candidate in input.candidates
	input.workspace.tier == "passes"
}

pass.whole contains "a"`,
  OPERATIONS,
);

const ORDERS = [
  ["one", "two", "passes"],
  ["one", "passes", "two"],
  ["two", "one", "passes"],
  ["two", "passes", "one"],
  ["passes", "one", "two"],
  ["passes", "two", "one"],
] as const;

it.for([[GATE], [FILTER, WHOLE]].flatMap((sources) => ORDERS.map((order) => ({ sources, order }))))(
  "unchanged requests are decided until each rule of $sources.0.path is used: $order",
  async ({ sources, order }) => {
    const workspaces = order.map((tier, index) => workspace(`w${index}`, {}, { tier }));
    const rows = { endpoints: [endpoint("a"), endpoint("b")], routes: [route("r", "a", ["b"])] };
    const side = await sideOf(table({ ...rows, workspaces }), sources);
    const { findings } = await simulate(side, side);
    expect(findings).toEqual([]);
  },
);
