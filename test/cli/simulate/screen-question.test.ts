import { expect, it } from "vitest";
import { questionOf } from "../../../src/cli/simulate/formats/screen/decide.ts";
import type { Effect } from "../../../src/cli/simulate/formats/screen/effects.ts";
import type { CauseReport } from "../../../src/simulate/report/cause-report.ts";

it("the question about a cause that breaks and widens says where to, also where nothing new is reached", () => {
  const cause = {
    entries: [{ kind: "endpoint", path: "endpoints.a.price" }],
    renames: [],
    gains: [],
    groups: [],
  } as unknown as CauseReport;
  const effects = [
    { tag: "BREAKS", workspaces: ["acme"] },
    { tag: "WIDENS", workspaces: ["beta"] },
  ] as unknown as readonly Effect[];
  expect(questionOf(cause, effects)).toBe("may beta reach these endpoints, and shall acme be refused?");
});
