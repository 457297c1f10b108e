import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stylePolicy, styleLibraries, STYLES } from "../../../bench/style-policies.ts";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { decideBothWays } from "../every-request.ts";
import { narrowings, twoSides } from "../random-sides.ts";
import { compiledSources } from "../small-sides.ts";

/**
 * The styles name values of `bench/scale-configuration.ts`; the small universe has these instead.
 */
const SMALL: Readonly<Record<string, string>> = {
  trial: "eu",
  audit: "eu",
  pii: "eu",
  "team-risk": "group:pay",
  "team-growth": "eu",
  platform: "group:web",
  test: "staging",
  over_1m: "to_4k",
  to_200k: "to_1k",
  "tenant-0": "w",
  "tenant-1": "v",
};

function smallPolicy(style: string, isHead: boolean): Source {
  const { path, text } = stylePolicy(style, isHead);
  const [metadata = "", ...rules] = text.split(/(?=\npackage )/);
  const small = rules
    .join("")
    .replaceAll(/"([\w-]+)"(?!:)/g, (whole, name: string) =>
      name in SMALL ? `"${SMALL[name]}"` : whole,
    );
  return { path, text: metadata + small };
}

describe("policies in common styles", () => {
  it.for(STYLES)("%s changes the requests that change when each is decided", async (style) => {
    const [base, head] = await Promise.all(
      [false, true].map((isHead) =>
        compiledSources([
          smallPolicy(style, isHead),
          ...(style.includes("library") ? styleLibraries() : []),
        ]),
      ),
    );
    if (base === undefined || head === undefined) throw new Error("two sides");
    let requests = 0;
    await fc.assert(
      fc.asyncProperty(twoSides, narrowings, async (drawn, narrow) => {
        const before = { table: drawn.base.table, policies: base };
        const after = { table: drawn.head.table, policies: head };
        const both = await decideBothWays(before, after, narrow, [], {
          fresh: true,
          promoted: null,
        });
        expect(both.found).toEqual(both.expected);
        requests += both.requests;
      }),
      { numRuns: 12 },
    );
    expect(requests).toBeGreaterThan(100);
  });
});
