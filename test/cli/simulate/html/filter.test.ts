import fc from "fast-check";
import { Script } from "node:vm";
import { describe, expect, test } from "vitest";
import { FILTER_SCRIPT, PAGE_SCRIPT } from "../../../../src/cli/simulate/formats/html/script.ts";

type Facet = "change" | "route" | "workspace" | "operation" | "provider" | "region";
type State = Readonly<Record<Facet | "q" | "tab", string>>;
interface Row {
  readonly facets: Partial<Readonly<Record<Facet, readonly string[]>>>;
  readonly counts: boolean;
  readonly text: () => string;
}
interface FilterScript {
  readonly FACETS: readonly Facet[];
  readonly NO_FILTER: State;
  parseState(fragment: string): State | null;
  formatState(state: State): string;
  tally(
    rows: readonly Row[],
    state: State,
  ): {
    readonly shown: readonly boolean[];
    readonly counts: ReadonlyMap<Facet, ReadonlyMap<string, number>>;
  };
}

/** The very text that the page carries. */
const script = new Script(
  `"use strict";(() => {${FILTER_SCRIPT}; return { FACETS, NO_FILTER, parseState, formatState, tally }; })()`,
).runInThisContext() as FilterScript;
const { FACETS, NO_FILTER } = script;

const name = fc.constantFrom("a", "b", "constructor", "__proto__", "a b&c=d", "ä#%");
const state = fc.record({
  tab: fc.constantFrom("declared", "promoted"),
  q: fc.constantFrom("", "x", "X y", " "),
  change: fc.constantFrom("", "a", "b"),
  route: fc.oneof(fc.constant(""), name),
  workspace: fc.oneof(fc.constant(""), name),
  operation: fc.constantFrom("", "a"),
  provider: fc.constantFrom("", "b"),
  region: fc.constantFrom("", "a"),
});
const names = fc.uniqueArray(name, { maxLength: 3 });
const row = fc
  .record({
    change: fc.option(names, { nil: undefined }),
    route: names,
    workspace: names,
    operation: names,
    provider: names,
    region: names,
    text: fc.constantFrom("", "x", "y x", "z"),
  })
  .map(({ text, change, ...facets }): Row => ({
    facets: change === undefined ? facets : { ...facets, change },
    counts: change !== undefined,
    text: () => text,
  }));

describe("the filter of the page", () => {
  test("restores its own state from the fragment", () => {
    fc.assert(
      fc.property(state, (value) => {
        expect(script.parseState(`#${script.formatState(value)}`)).toEqual(value);
      }),
    );
  });

  test.each(["", "#", "#assertions", "#declared-0a1b2c3d4e5f"])(
    "ignores the anchor %j",
    (fragment) => {
      expect(script.parseState(fragment)).toBeNull();
    },
  );

  test.each([
    ["#tab=elsewhere&route=a", { route: "a" }],
    ["#constructor=x&__proto__=y&q=z", { q: "z" }],
    ["#tab=promoted", { tab: "promoted" }],
  ])("reads the known members of %s", (fragment, said) => {
    expect(script.parseState(fragment)).toEqual({ ...NO_FILTER, ...said });
  });

  const matches = (each: Row, wanted: State): boolean =>
    FACETS.every(
      (facet) => wanted[facet] === "" || (each.facets[facet]?.includes(wanted[facet]) ?? true),
    ) &&
    wanted.q
      .toLowerCase()
      .split(" ")
      .every((term) => each.text().includes(term));

  test("shows rows that match every choice, and counts the rows of each other choice", () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), state, (rows, value) => {
        const { shown, counts } = script.tally(rows, value);
        expect(shown).toEqual(rows.map((each) => matches(each, value)));
        for (const facet of FACETS) {
          for (const [choice, count] of counts.get(facet) ?? []) {
            const left = rows.filter(
              (each) =>
                each.counts &&
                each.facets[facet]?.includes(choice) === true &&
                matches(each, { ...value, [facet]: "" }),
            );
            expect(count).toBe(left.length);
          }
          expect(new Set(counts.get(facet)?.keys())).toEqual(
            new Set(rows.flatMap(({ facets }) => facets[facet] ?? [])),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  test("is a valid script, included in the page unchanged", () => {
    expect(() => new Script(PAGE_SCRIPT)).not.toThrow();
    expect(PAGE_SCRIPT).not.toMatch(
      /<\/|<!--|innerHTML|outerHTML|insertAdjacent|eval\(|new Function/,
    );
  });
});
