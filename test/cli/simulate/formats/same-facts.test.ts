import { describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { textOf } from "../html/page-tokens.ts";
import { report } from "../html/report-fixture.ts";
import { everything } from "./report-fixture.ts";

const CONTEXT = { colour: false, width: 10_000, reportDigest: "ab".repeat(32) };
const page = report();

/** A fact that every format for people has, and the report that holds it. */
const FACTS = [
  ["the commit of a side", page, /df534b4e0c5d/],
  ["the digest that an approver signs", page, /(?:ab){32}/],
  ["the table's revision of base", everything(), /3b1c9a0e77d21f00aa/],
  ["lost data paths", page, /Lost data paths/],
  ["which candidates are promoted", page, /web-search/],
  ["the number of requests of each kind of change", everything(), /fallbacks widened 12/],
  ["that not every class was decided", everything(), /not every class of requests was decided/],
  ["a coverage gate that fails", page, /1 coverage gate fails/],
  [
    "the example of an assertion that fails",
    everything(),
    /acme-eu requests chat\.completions of chat-eu/,
  ],
  [
    "for how much of the requests an assertion fails",
    everything(),
    /by 3 of 1,204 classes; looked at as declared and/,
  ],
  ["new warnings of the compiler", everything(), /ROUTE_ODD.*an odd route/],
  ["the location of an unused part", everything(), /routes\.yaml:55:9/],
  [
    "decisions that head cannot express",
    everything(),
    /3 decisions cannot be expressed by head's files: .?workspace is gone/,
  ],
  ["the time of the evidence", everything(), /2026-10-01T00:00:00Z/],
  [
    "recorded calls that change, by workspace and day",
    everything(),
    /acme-eu.*14 calls.*2026-10-02: 13, 2026-10-09: 1.*req_7, req_8, req_9/s,
  ],
  [
    "the cost of recorded answers by route and month",
    everything(),
    /chat-eu.*2026-10.*13 answers.*12\.5 → at least 25/s,
  ],
  [
    "what the recorded answers would have cost, in one line",
    everything(),
    /SPEND.*chat-eu: 12\.5 → at least 25 USD by list price \(2 answers without a price or a count\), 13 recorded answers from 2026-10-01 to 2026-10-31/s,
  ],
  ["groups that are seen as if promoted", everything(), /2 of 2 changes seen: 14 decisions/],
  ["a changed plan as a comparison", everything(), /\+ openai-us-gpt5: gpt-5 at openai in us-east/],
  [
    "the reason of a denial",
    everything(),
    /denied by tool-approval\/tools_approved: tool_not_approved/,
  ],
] as const;

describe.each(["terminal", "markdown", "html"] as const)("the report as %s", (format) => {
  test.each(FACTS)("has %s", (_fact, value, pattern) => {
    const text = FORMATS[format](value, CONTEXT);
    expect((format === "html" ? textOf(text) : text).replaceAll("`", "")).toMatch(pattern);
  });
});
