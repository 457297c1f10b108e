import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FormatContext } from "../../../../src/cli/simulate/formats/model.ts";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import type { SimulationReport } from "../../../../src/simulate/report/report.ts";
import {
  assertion,
  assertions,
  comparison,
  denied,
  EU,
  EU2,
  everything,
  FAILED,
  group,
  HOSTILE,
  huge,
  named,
  path,
  report,
  routed,
  US,
  usFallback,
  WIDENED,
} from "./report-fixture.ts";

const PLAIN: FormatContext = { colour: false, width: 100, reportDigest: null };

function shown(one: SimulationReport, changes: Partial<FormatContext> = {}): string {
  return FORMATS.terminal(one, { ...PLAIN, ...changes });
}

describe("the whole report", () => {
  test("of a US fallback on an EU route matches its snapshot", () => {
    expect(shown(usFallback())).toMatchInlineSnapshot(`
      "REVIEW  more permissive, 12 of 3,184 classes change (40,200 request shapes)
      main 1a2b3c4 → us-fallback 9f8e7d6   complete

      Details
      Simulation of main (1a2b3c4d5e6f) → us-fallback (9f8e7d6c5b4a)
      Head allows everything that base allows, and more.
      as declared  more permissive, 12 of 3,184 classes change (40,200 request shapes): fallbacks widened
                   12

      New data paths (1)
        + acme-eu  chat.completions  → openai in us-east by chat-eu
            try  signalbox explain --workspace acme-eu --model chat-eu --needs tools

      Changes (1)

        + chat-eu  fallbacks widened  12 classes, 40,200 request shapes  4f2a9c01d4e5
            workspaces  acme-eu, acme-dev
            operations  chat.completions, responses
            needs       tools
            look at     routes.yaml:41:7
            result        azure-eu-gpt5: gpt-5 at azure in eu-west
                        + openai-us-gpt5: gpt-5 at openai in us-east
                          azure-se-gpt5: gpt-5 at azure in eu-north
            try         signalbox explain --workspace acme-eu --model chat-eu --needs tools

      Simulation: 12 classes change (fallbacks widened 12); 1 new data path.
      3,184 classes stand for 1,926,400 request shapes. Table 3b1c9a0e77d21f00aa → 88f0aa12c3d4ee0011.
      "
    `);
  });

  test("of every kind of fact matches its snapshot", () => {
    expect(shown(everything())).toMatchInlineSnapshot(`
      "FAIL    more permissive among the classes that were decided, 12 of 3,184 classes change (40,200
        request shapes)
      main 1a2b3c4 → us-fallback   NOT COMPLETE   assertions 1/3   120,400 recorded calls counted

      FAILS   no-us-for-eu  acme-eu reaches openai in us-east   policies/assertions.yaml:12
      SPEND   chat-eu: 12.5 → at least 25 USD by list price (2 answers without a price or a count), 13
              recorded answers from 2026-10-01 to 2026-10-31

      More: coverage
      Facts: 1 fails, 1 spend

      INCOMPLETE: not every class of requests was decided. The results below cover only those that were;
        others may change too.
      ! key.labels  16 of 4,096 values

      Details
      Simulation of main (1a2b3c4d5e6f) → us-fallback
      as declared     more permissive among the classes that were decided, 12 of 3,184 classes change
                      (40,200 request shapes): fallbacks widened 12
      as if promoted  incomparable among the classes that were decided, 13 of 3,184 classes change (40,201
                      request shapes): newly denied 1, fallbacks widened 12
      assertions      1 failed, 1 waived, 1 passed so far
      policy          + tool-approval new, candidate
      policy          ~ eu-residency enforced, text changed d1 → d2
      As if 1 candidate was promoted (tool-approval): 1 other group, 1 group as declared.

      New data paths (1)
        + acme-eu  chat.completions  → openai in us-east by chat-eu
            try  signalbox explain --workspace acme-eu --model chat-eu --needs tools

      Changes (1)

        + chat-eu  fallbacks widened  12 classes, 40,200 request shapes, seen 14 times in evidence
            4f2a9c01d4e5
            workspaces  acme-eu, acme-dev
            operations  chat.completions, responses
            needs       tools
            look at     routes.yaml:41:7
            result        azure-eu-gpt5: gpt-5 at azure in eu-west
                        + openai-us-gpt5: gpt-5 at openai in us-east
                          azure-se-gpt5: gpt-5 at azure in eu-north
            try         signalbox explain --workspace acme-eu --model chat-eu --needs tools

      Changes only as if promoted (1)

        - chat-large  newly denied  1 class, 1 request shape, not seen in evidence  b77e01aa9c30
            workspaces  acme-prod, acme-dev, tenant-0, tenant-1, tenant-2, tenant-3 and 407 more
            operations  chat.completions, responses
            look at     policies/tool-approval.rego:9:1
            result      - openai-us-gpt5: gpt-5 at openai in us-east
                        + denied by tool-approval/tools_approved: tool_not_approved
            try         signalbox explain --workspace acme-eu --model chat-eu --needs tools

      Assertions (1 failed, 1 waived, 1 passed so far)
        From policies/assertions.yaml. PASS so far: only the classes that were decided were looked at.
        FAIL         no-us-for-eu          EU tenants never reach the US  no_new_access, 1,204 classes
            why       acme-eu reaches openai in us-east
            violated  by 3 of 1,204 classes; looked at as declared and as if promoted
            example   acme-eu requests chat.completions of chat-eu, environment production, workload
                      support-bot, needs tools, context to_4k, time weekday morning
            look at   policies/assertions.yaml:12:5
            try       signalbox explain --workspace acme-eu --model chat-eu --needs tools
        WAIVED       prod-always-routable  Production must be reachable   always_routable, 1,204 classes
            why       acme-eu is denied
            violated  by 1 of 1,204 classes; looked at as declared
            waived    until 2026-12-01 by platform: moving to the new route
            look at   policies/assertions.yaml:12:5
        PASS so far  embeddings-stay       EU tenants never reach the US  no_new_access, 1,204 classes

      Coverage by all requests of head (not judged: not every class of requests was decided)
        not judged  routes       12 of 14 (85.7 %), 90 % required
            missing  old, batch
        not gated   constraints  5 of 5 (100.0 %)

      Parts of head unused by the decided requests (1 new in head; 1 more already in base; not judged: not
        every class of requests was decided)
        ! fallback never used  chat-large → gpt-5-us  new in head  routes.yaml:55:9

      Changed settings (1)
        ~ workspaces.acme-eu.limits.requests_per_minute  60 → 600: how much may be used; a running server
            counts it; higher_ceiling  routes.yaml:90:7

      Warnings of the compiler (1 new in head)
        ! ROUTE_ODD  an odd route  new in head  routes.yaml:3:1

      Evidence (120,400 decisions)
        From 2026-10-01T00:00:00Z to 2026-10-31T23:59:59Z.
        as declared     1 of 1 change seen: 14 decisions, less than 0.1 %
        as if promoted  2 of 2 changes seen: 14 decisions, less than 0.1 %
        ! 1,200 decisions were made differently than base decides: under other files, or with data that an
            older record does not have
        ! 1 line is not evidence and not counted
        ! 3 decisions cannot be expressed by head's files: workspace is gone
        Cost of recorded answers in USD by list price:
        chat-eu  2026-10  13 answers  12.5 → at least 25
        Recorded calls that are decided differently:
        acme-eu  14 calls  2026-10-02: 13, 2026-10-09: 1  req_7, req_8, req_9

      Simulation: 12 classes change (fallbacks widened 12); 1 new data path; 1 group only as if promoted;
        1 assertion failed; incomplete.
      3,184 classes stand for 1.9 × 10^18 request shapes. Table 3b1c9a0e77d21f00aa → 88f0aa12c3d4ee0011.
      "
    `);
  });

  test("of no change matches its snapshot", () => {
    const text = shown(report());
    expect(text).toContain("\nas declared  equivalent, no class changes\n");
    expect(text).toContain("\nNo changes. Head allows exactly what base allows.\n");
    expect(text).toMatch(
      /\nSimulation: no changes\.\n3,184 classes stand for 1,926,400 request shapes\. Table \w+ → \w+\.\n$/,
    );
    expect(text).not.toMatch(/promoted|Assertions|Evidence|INCOMPLETE/);
  });
});

describe("the first lines", () => {
  test("print newly indeterminate classes in capitals", () => {
    const compared = comparison("less_permissive", [
      group({ kinds: ["newly_denied", "indeterminate_new"], classes: 3 }),
    ]);
    const text = shown(report({ promoted: compared, promoted_policies: ["a"] }));
    expect(text).toContain(
      "\nINDETERMINATE: in 3 classes a policy cannot be evaluated any more.\n\nDetails\n",
    );
    expect(text).toContain("  ! chat-eu  newly indeterminate, newly denied  ");
  });

  test("are the verdict, then new data paths, then groups", () => {
    const text = shown(everything());
    const order = [
      "INCOMPLETE",
      "\nas declared ",
      "As if 1 candidate",
      "New data paths (1)",
      "\nChanges (1)",
    ];
    const positions = order.map((part) => text.indexOf(part));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual(positions.toSorted((left, right) => left - right));
  });

  test("do not claim that nothing changes for an incomplete report without a change", () => {
    const text = shown(report({ complete: false }));
    expect(text).toContain("No changes among the classes that were decided.");
    expect(text).not.toContain("exactly");
    expect(text).toContain("; incomplete.".slice(2));
  });
});

describe("as if promoted", () => {
  const both = comparison("more_permissive", [WIDENED], { new_data_paths: [path()] });
  const count = (text: string, part: string): number => text.split(part).length - 1;

  test("equal groups are printed once and marked as the same", () => {
    const text = shown(report({ declared: both, promoted: both, promoted_policies: ["a", "b"] }));
    expect(count(text, WIDENED.id)).toBe(1);
    expect(text).toContain("\nAs if 2 candidates were promoted (a, b): the same changes.\n");
  });

  test("a group that has more classes once promoted is printed again", () => {
    const promoted = comparison("more_permissive", [group({ classes: 13 })], {
      new_data_paths: [path()],
    });
    const text = shown(report({ declared: both, promoted, promoted_policies: ["a"] }));
    expect(text).toContain("fallbacks widened  13 classes, ");
  });
});

describe("plans", () => {
  const results = (base = routed(), head = routed()): readonly string[] => {
    const text = shown(
      report({ declared: comparison("incomparable", [group({ base, head, conditions: [] })]) }),
    );
    const lines = text.split("\n").map((line) => line.slice(18));
    return lines.slice(
      text.split("\n").findIndex((line) => line.startsWith("      result ")),
      text.split("\n").findIndex((line) => line.startsWith("      try ")),
    );
  };

  test.each([
    [
      "widened",
      routed(EU, EU2),
      routed(EU, US, EU2),
      [
        "  azure-eu-gpt5: gpt-5 at azure in eu-west",
        "+ openai-us-gpt5: gpt-5 at openai in us-east",
        "  azure-se-gpt5: gpt-5 at azure in eu-north",
      ],
    ],
    [
      "reordered",
      routed(EU, EU2),
      routed(EU2, EU),
      [
        "  azure-se-gpt5: gpt-5 at azure in eu-north",
        "~ azure-eu-gpt5: gpt-5 at azure in eu-west (was number 1, is number 2)",
      ],
    ],
    [
      "another region under the same name",
      routed(EU),
      routed({ ...EU, region: "us-east" }),
      ["- azure-eu-gpt5: gpt-5 at azure in eu-west", "+ azure-eu-gpt5: gpt-5 at azure in us-east"],
    ],
    [
      "another reason",
      denied("a", "b", "c"),
      denied("a", "b", "d"),
      ["- denied by a/b: c", "+ denied by a/b: d"],
    ],
    [
      "edits",
      { ...routed(EU), edits: { max_output_tokens: 4096, strip_fields: ["user"] } },
      { ...routed(EU), edits: { max_output_tokens: null, strip_fields: ["metadata", "user"] } },
      [
        "  azure-eu-gpt5: gpt-5 at azure in eu-west",
        "- at most 4096 output tokens",
        "  takes out user",
        "+ takes out metadata",
      ],
    ],
  ])("%s", (_, base, head, expected) => {
    expect(results(base, head).toSorted()).toEqual(expected.toSorted());
  });

  test("list every candidate of both sides once, in head's order, marked by its side", () => {
    const plans = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 7 });
    fc.assert(
      fc.property(plans, plans, (before, after) => {
        fc.pre(before.length + after.length > 0);
        const plan = (indices: readonly number[]) =>
          routed(...indices.map((index) => ({ ...EU, endpoint: `e${index}` })));
        const rows = results(plan(before), plan(after)).map((row) => ({
          mark: row[0],
          index: Number(row[3]),
        }));
        expect(rows.filter(({ mark }) => mark !== "-").map(({ index }) => index)).toEqual(after);
        expect(new Set(rows.map(({ index }) => index))).toEqual(new Set([...before, ...after]));
        for (const { mark, index } of rows) {
          const sides = `${before.includes(index) ? "b" : ""}${after.includes(index) ? "h" : ""}`;
          expect({ b: ["-"], h: ["+"], bh: [" ", "~"] }[sides]).toContain(mark);
        }
      }),
    );
  });
});

describe("lists", () => {
  test("long lists are cut, with the exact number of omitted items", () => {
    const text = shown(huge(), { width: 200 });
    expect(text).toContain("… 4,950 more groups; --format json and html have them all");
    expect(text).toContain("… 4,970 more paths; --format json and html have them all");
    expect(text).toContain(
      "60,000 classes change (newly denied 30,000, fallbacks widened 30,000); 5,000 new data paths",
    );
    expect(text.length).toBeLessThan(300_000);
  });

  test("no failed assertion is omitted, and they come first", () => {
    const passed = Array.from({ length: 50 }, (_, index) => assertion({ id: `passed-${index}` }));
    const failed = Array.from({ length: 50 }, (_, index) =>
      assertion({ ...FAILED, id: `failed-${index}` }),
    );
    const text = shown(report({ assertions: assertions([...passed, ...failed]) }));
    expect(text.match(/^ {2}FAIL {2}failed-/gm)).toHaveLength(50);
    expect(text).not.toContain("passed-1");
    expect(text).toContain("… 50 more assertions");
  });

  test("an expired waiver is marked as expired", () => {
    const waiver = { until: "2026-01-01", reason: "r", owner: "o", expired: true };
    const text = shown(report({ assertions: assertions([{ ...FAILED, waiver }]) }));
    expect(text).toContain("      expired   until 2026-01-01 by o: r\n");
  });
});

describe("a terminal", () => {
  test.each([usFallback(), everything(), huge(60), named("name")])(
    "colour adds only colour codes (%#)",
    (one) => {
      const coloured = shown(one, { colour: true });
      expect(coloured).toContain("\u001b[");
      expect(stripVTControlCharacters(coloured)).toBe(shown(one));
      expect(shown(one)).not.toContain("\u001b");
    },
  );

  test("no row but a command is wider than requested; wrapped rows lose nothing", () => {
    const withoutSpaces = (text: string): string => text.replaceAll(/\s/g, "");
    const reports = [usFallback(), everything(), named("a b".repeat(40)), named("x".repeat(500))];
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 200 }), fc.constantFrom(...reports), (width, one) => {
        const text = shown(one, { width });
        const wide = text
          .split("\n")
          .filter((row) => Array.from(row).length > width && !/^ *try +signalbox /.test(row));
        expect(wide).toEqual([]);
        expect(withoutSpaces(text)).toBe(withoutSpaces(shown(one, { width: 10_000 })));
      }),
    );
  });

  test.each([0, 1, 39, Number.NaN])("a width of %s does not hang", (width) => {
    expect(shown(everything(), { width })).toContain("\nas declared ");
  });

  test("text from files cannot move the cursor, begin a row or a command of a log", () => {
    const name = fc.array(fc.constantFrom(...HOSTILE, " ", "::stop-commands::x "), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(name, fc.integer({ min: 40, max: 120 }), (parts, width) => {
        const text = shown(named(parts.join("")), { width });
        expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(text).not.toMatch(/^\s*::/m);
      }),
    );
  });
});
