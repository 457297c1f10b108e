import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { formatMarkdown } from "../../../../src/cli/simulate/formats/markdown.ts";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import { effectsOf, isCounted } from "../../../../src/cli/simulate/formats/screen/effects.ts";
import { firstScreen } from "../../../../src/cli/simulate/formats/terminal.ts";
import { screenOf } from "../../../../src/cli/simulate/formats/screen/screen.ts";
import { renderLines } from "../../../../src/cli/terminal/printing.ts";
import type { CompiledPolicies } from "../../../../src/policy/compile-policies.ts";
import { groupsOfCause, membersOf } from "../../../../src/simulate/report/cause-parts.ts";
import { policyPool, sideOfFacts, twoSides } from "../../../simulate/random-sides.ts";
import { simulate } from "../../../simulate/small-sides.ts";
import { fewOrMany } from "../../../support/long.ts";

let pool: readonly CompiledPolicies[] = [];

beforeAll(async () => {
  pool = await policyPool();
});

it("every newly denied group has a BREAKS line, on the terminal and in a comment", async () => {
  let met = 0;
  await fc.assert(
    fc.asyncProperty(twoSides, async ({ base, head }) => {
      const report = modelOf(await simulate(sideOfFacts(base, pool), sideOfFacts(head, pool)));
      const screen = screenOf(report, {});
      const rows = screen.rows.filter(({ tag }) => tag === "BREAKS");
      for (const cause of report.causes) {
        const breaks = effectsOf(cause, report).effects.filter(({ tag }) => tag === "BREAKS");
        for (const { group, promoted } of groupsOfCause(cause, report)) {
          if (!group.kinds.includes("newly_denied") || isCounted(group, cause)) continue;
          met += 1;
          for (const { workspace, routes } of membersOf(group))
            for (const route of routes)
              expect(
                breaks.filter(
                  (effect) =>
                    effect.promoted === promoted &&
                    effect.workspaces.includes(workspace) &&
                    effect.routes.includes(route),
                ),
                `${workspace} ${route} ${group.id}`,
              ).not.toEqual([]);
        }
        for (const { text } of breaks)
          expect(rows.filter((row) => row.text.startsWith(text))).not.toEqual([]);
      }
      const lines = renderLines(firstScreen(screen, false).first, { colour: false, width: 100 });
      expect(lines.match(/^BREAKS /gm) ?? []).toHaveLength(rows.length);
      const comment = formatMarkdown(report, { colour: false, width: 100, reportDigest: null });
      expect(comment.match(/^\| ❌ \*\*BREAKS\*\* /gm) ?? []).toHaveLength(rows.length);
    }),
    { numRuns: fewOrMany(6, 60), seed: 11, endOnFailure: true },
  );
  expect(met).toBeGreaterThan(0);
}, 300_000);
