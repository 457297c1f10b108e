import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coverageResults, type CoverageFacts } from "../../../src/simulate/assertions/run.ts";
import { parse } from "./samples.ts";

const FACTS: CoverageFacts = {
  constraints: [
    { id: "eu-residency/processed_in_eu", covered: true },
    { id: "b/never_fails", covered: false },
    { id: "a/never_passes", covered: false },
  ],
  reasons: [
    { id: "eu-residency/processed_in_eu/REGION_NOT_IN_EU", covered: true },
    { id: "eu-residency/processed_in_eu/EU_UNKNOWN", covered: false },
  ],
  routes: [{ id: "chat-large", covered: true }],
  fallback_edges: [
    { id: "chat-large → gpt-5-eu", covered: true },
    { id: "chat-small → mistral-small-eu", covered: false },
    { id: "chat-large → mistral-large-eu", covered: true },
  ],
};

function gatesOf(coverage: string) {
  const { assertions, diagnostics } = parse(`version: 1\nassertions: []\n${coverage}\n`);
  if (assertions === null) throw new Error(JSON.stringify(diagnostics));
  return assertions.coverage;
}

function resultsOf(demand: ReturnType<typeof gatesOf>, facts: CoverageFacts) {
  return coverageResults(demand, { base: facts, head: facts });
}

function statuses(coverage: string) {
  return resultsOf(gatesOf(coverage), FACTS).map(({ what, covered, of, required, status }) =>
    [what, `${covered}/${of}`, required, status].join(" "),
  );
}

describe("coverage gates", () => {
  test("without a gate everything passes and is counted", () => {
    expect(statuses("")).toEqual([
      "constraints 1/3  PASS",
      "reasons 1/2  PASS",
      "routes 1/1  PASS",
      "fallback_edges 2/3  PASS",
    ]);
  });

  test("a gate passes at exactly its threshold", () => {
    expect(
      statuses("coverage: { constraints: 33, reasons: 50, routes: 100, fallback_edges: 67 }"),
    ).toEqual([
      "constraints 1/3 33 PASS",
      "reasons 1/2 50 PASS",
      "routes 1/1 100 PASS",
      "fallback_edges 2/3 67 FAIL",
    ]);
    expect(statuses("coverage: { reasons: 50.1 }")[1]).toBe("reasons 1/2 50.1 FAIL");
  });

  test("excluded items do not count; both arrows name an edge", () => {
    for (const arrow of ["->", "→", " -> ", " → "]) {
      const results = statuses(
        `coverage: { fallback_edges: 100, except: ["chat-small${arrow}mistral-small-eu", eu-residency/processed_in_eu/EU_UNKNOWN] }`,
      );
      expect(results).toContain("fallback_edges 2/2 100 PASS");
      expect(results).toContain("reasons 1/1  PASS");
    }
  });

  test("missing subjects are sorted, and a gate has its location", () => {
    const [constraints] = resultsOf(gatesOf("coverage:\n  constraints: 100"), FACTS);
    expect(constraints).toMatchObject({
      missing: ["a/never_passes", "b/never_fails"],
      location: { file: "policies/assertions.yaml", line: 4, column: 3 },
    });
  });

  test("an empty dimension passes its gate", () => {
    const none: CoverageFacts = { constraints: [], reasons: [], routes: [], fallback_edges: [] };
    for (const result of resultsOf(gatesOf("coverage: { constraints: 100, routes: 100 }"), none)) {
      expect(result).toMatchObject({ covered: 0, of: 0, status: "PASS" });
    }
  });

  test("one subject less never turns a failure into a pass", () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 0, max: 100 }),
        (chosen, gate) => {
          const routes = chosen.map((each, index) => ({ id: `r${index}`, covered: each }));
          const demand = gatesOf(`coverage: { routes: ${gate} }`);
          const status = (rows: typeof routes) =>
            resultsOf(demand, { ...FACTS, routes: rows })[2]?.status;
          const worse = routes.map((row, index) =>
            index === 0 ? { ...row, covered: false } : row,
          );
          expect([status(routes), status(worse)]).not.toEqual(["FAIL", "PASS"]);
          const share = (100 * chosen.filter(Boolean).length) / chosen.length;
          if (Math.abs(share - gate) > 1e-6)
            expect(status(routes)).toBe(share > gate ? "PASS" : "FAIL");
        },
      ),
    );
  });
});
