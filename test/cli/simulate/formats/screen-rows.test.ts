import { describe, expect, it } from "vitest";
import {
  FAIL_ON_VALUES,
  verdictOf,
  type FailOnValue,
} from "../../../../src/cli/simulate/exit-code.ts";
import { renderLines } from "../../../../src/cli/terminal/printing.ts";
import { firstScreen, formatTerminal } from "../../../../src/cli/simulate/formats/terminal.ts";
import { screenOf } from "../../../../src/cli/simulate/formats/screen/screen.ts";
import { spentTexts } from "../../../../src/cli/simulate/formats/screen/cause-rows.ts";
import { comparison, everything, NEWLY_DENIED } from "./report-fixture.ts";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import { simulated, type Edit } from "../../../simulate/causes/fixture.ts";

async function screen(failOn: readonly FailOnValue[], ...edits: readonly Edit[]): Promise<string> {
  const report = await simulated(...edits);
  const verdict = verdictOf(report, { failOn, promoting: false, detailedExitcode: false });
  const { first: lines } = firstScreen(screenOf(modelOf(report), { verdict }), false);
  return renderLines(lines, { colour: false, width: 100 });
}

/** One row a text, without the columns. */
function rowsOf(text: string): readonly string[] {
  const [, rows = ""] = text.split("\n\n");
  return rows.split(/\n(?! )/).map((row) => row.replaceAll(/\s+/g, " ").trim());
}

const REORDERED: Edit = [
  "routes.yaml",
  "primary: gpt-5-us\n    fallbacks: [gpt-5-eu]",
  "primary: gpt-5-eu\n    fallbacks: [gpt-5-us]",
];
const US_FALLBACK: Edit = [
  "routes.yaml",
  "fallbacks: [mistral-large-eu]",
  "fallbacks: [mistral-large-eu, gpt-5-us]",
];
const PRICE: Edit = [
  "routes.yaml",
  "price: { input: 0.25, output: 2 }",
  "price: { input: 0.3, output: 2.4 }",
];
const VERSION: Edit = ["routes.yaml", "mistral-large-2512", "mistral-large-2603"];
/** Plain requests of legal for chat reach it alone, as others do who allow no fallbacks. */
const GPT_5_EU: Edit = [
  "routes.yaml",
  "provider: openai-eu\n    upstream_model: gpt-5-2025-08-07",
  "provider: openai-eu\n    upstream_model: gpt-5-2026-03-11",
];
const NEW_WORKSPACE: Edit = [
  "routes.yaml",
  "  finance:\n",
  `  recruiting:
    tier: standard
    approve:
      routes: [chat, chat-eu]
      regions: [eu, us]
      providers: [openai-eu, openai-us, mistral-eu]
  finance:
`,
];
const WEAKER_POLICY: Edit = [
  "data-retention",
  'candidate.retention == "none"',
  'candidate.retention != "unlimited"',
];

const SEVERAL: readonly Edit[] = [
  ["routes.yaml", "\n  fast:\n", "\n  quick:\n"],
  ["routes.yaml", "chat-eu, fast]", "chat-eu, quick]"],
  ["routes.yaml", "[chat, fast]", "[chat, quick]"],
  WEAKER_POLICY,
  VERSION,
  PRICE,
];

const FAST_FALLBACK: Edit = [
  "routes.yaml",
  "    primary: gpt-5-mini-us\n",
  "    primary: gpt-5-mini-us\n    fallbacks: [gpt-5-us]\n",
];

const MOVED_ENDPOINT = "    model: gpt-5-mini\n    provider: openai-us\n";

describe("the first screen", () => {
  it("does not call a workspace the same without its requests with conditions", async () => {
    // Without fallbacks a policy refused the former primary.
    expect(await screen([], REORDERED)).toContain("SAME    legal (plain requests)\n");
  });

  it("compares the price of another primary with that of the former one", async () => {
    expect(await screen([], REORDERED)).toContain(
      "COST    gpt-5-eu 1.38/11 against gpt-5-us 1.25/10 USD per million tokens",
    );
  });

  it("the tags of rows without room are listed", async () => {
    expect(await screen([], US_FALLBACK, ...SEVERAL)).toMatch(/… \d+ more below: [A-Z, ]+/);
  });

  it("always lists a new data path, also one that a promotion adds to reachable ones", async () => {
    const text = await screen([], US_FALLBACK, ...SEVERAL);
    expect(text).toContain("more below");
    expect(text.replaceAll(/\s+/g, " ")).toMatch(
      /WIDENS clinic chat-eu → gpt-5-us: [^;]*, 3rd in order; once promoted; a new data path/,
    );
    expect(text).not.toMatch(/no request[^.]* is decided differently/);
  });

  it("rows that do not fit are printed in the details, unchanged", async () => {
    const model = modelOf(await simulated(US_FALLBACK, ...SEVERAL));
    const { first, further } = firstScreen(screenOf(model, {}), false);
    const text = (lines: typeof first): string =>
      renderLines(lines, { colour: false, width: 100 }).trim();
    expect(further.length).toBeGreaterThan(0);
    const details = formatTerminal(model, {
      colour: false,
      width: 100,
      all: false,
      reportDigest: "0",
    }).split("\nDetails\n")[1];
    expect(details).toContain(text(further));
    for (const line of further) expect(text(first)).not.toContain(text([line]));
  });

  it("has the plain requests of a workspace whose group begins with another's preferences", async () => {
    const text = await screen([], GPT_5_EU);
    expect(text).toMatch(/^MOVES {3}legal +chat, chat-eu: gpt-5-eu, 1st in order, is changed$/m);
    expect(text).not.toContain('"preferences"');
  });

  it("begins with the fact of a failing gate, with its cause as headline", async () => {
    const text = await screen(["new_destination", "higher_ceiling"], PRICE, VERSION, NEW_WORKSPACE);
    const [headline = ""] = text.split("\n");
    const [first = ""] = text.split("\n\n")[1]?.split("\n") ?? [];
    expect(headline).toMatch(
      /^FAIL {4}workspace recruiting \(tier standard, no labels\) is new and may use chat, chat-eu/,
    );
    expect(text).toMatch(/and 2 more changes {3}routes\.yaml:101$/m);
    expect(first).toMatch(/^WIDENS {2}recruiting +chat/);
    expect(text).toMatch(/a new data path\s.*\s+fails new_destination$/m);
    expect(text).not.toContain("higher_ceiling");
  });

  it("ends with the number of facts of each kind", async () => {
    const text = await screen(["new_destination"], US_FALLBACK);
    expect(text.trimEnd().split("\n").at(-1)).toBe(
      "Facts: 3 break, 1 widens, 3 same, 1 note, 1 cost",
    );
  });

  it("keeps every SAME, NOTE and CHANGE where other rows have no room", async () => {
    const text = await screen([], PRICE, VERSION, FAST_FALLBACK, NEW_WORKSPACE);
    expect(text).toContain('NOTE    the title of fast says "Short and cheap"');
    expect(text).toMatch(/^CHANGE {2}price of gpt-5-mini-us 0\.25\/2 → 0\.3\/2\.4/m);
    expect(text).toMatch(/^CHANGE {2}mistral-large-eu is the provider's mistral-large-2603/m);
    expect(text).toMatch(/… \d+ more below: [A-Z, ]*COST/);
    expect(text).not.toMatch(/more below: .*(CHANGE\b|NOTE|SAME)/);
  });

  it("has one question for each of several causes, which names its subject", async () => {
    const text = await screen([], PRICE, VERSION, FAST_FALLBACK, NEW_WORKSPACE);
    const questions = text.slice(text.indexOf("\nDecide: "), text.indexOf("\nexplain: "));
    expect(questions.replaceAll(/\s+/g, " ")).toContain(
      "may requests of support, website for fast go to gpt-5-us? has mistral-large-2603 (mistral-large-eu) been tried for chat-eu? does the provider of gpt-5-mini-us charge 0.3/2.4? preferences by price and budgets use it",
    );
  });
});

describe("the headline", () => {
  const headlineOfEdits = async (...edits: readonly Edit[]): Promise<string> =>
    (await screen([], ...edits)).split("\n\n")[0] ?? "";

  it("of a fallback names the workspaces that are refused", async () => {
    expect(await headlineOfEdits(US_FALLBACK)).toContain("kept 30 days; clinic refused");
  });

  it("of an endpoint with another provider is about it, and not about the approvals", async () => {
    const text = await headlineOfEdits(
      ["routes.yaml", MOVED_ENDPOINT, MOVED_ENDPOINT.replace("openai-us", "mistral-eu")],
      [
        "routes.yaml",
        "providers: [openai-eu, openai-us]",
        "providers: [openai-eu, openai-us, mistral-eu]",
      ],
    );
    expect(text).toMatch(/^REVIEW {2}endpoints\.gpt-5-mini-us\.provider: openai-us → mistral-eu/);
  });
});

describe("a refusal", () => {
  it("of callers with preferences has a line, after the rows for all callers", async () => {
    const text = await screen([], ["routes.yaml", "eu: [eu, eu-west]", "eu: [eu]"]);
    // No workspace without the route is the same: those are refused too.
    expect(text).not.toMatch(/^SAME/m);
    expect(rowsOf(text).filter((row) => /^(BREAKS|NARROWS) /.test(row))).toEqual([
      "NARROWS clinic, finance, hr and 2 more chat-eu no longer reaches mistral-large-eu; left: gpt-5-eu",
      "BREAKS clinic, finance, hr and 2 more chat-eu refused: approvals/region_approved (REGION_NOT_APPROVED); only some callers with preferences; such as with max_price output 6",
      "BREAKS clinic, finance, hr and 2 more chat-eu refused: preferences/max_price (preferences_exclude_all); only some callers who set region eu; such as with max_price output 6",
      "BREAKS legal chat: requests that name region eu-west are refused",
      "BREAKS support, website chat, fast: requests that name region eu-west are refused",
    ]);
  });

  it("of callers without a preference in common names one that they set", async () => {
    const text = await screen(
      [],
      ["routes.yaml", MOVED_ENDPOINT, MOVED_ENDPOINT.replace("us", "eu")],
    );
    // The new destination of plain requests comes first.
    expect(rowsOf(text)[0]).toMatch(/^WIDENS /);
    expect(rowsOf(text)[1]).toBe(
      "BREAKS support, website fast refused: preferences/region (preferences_exclude_all); only some callers with preferences; such as with region us",
    );
  });

  it("of plain requests has no second line for those with preferences", async () => {
    const rows = rowsOf(await screen([], US_FALLBACK));
    expect(rows.filter((row) => /^BREAKS +clinic/.test(row))).toHaveLength(1);
    expect(rows.slice(0, 3)).toEqual([
      expect.stringMatching(/^BREAKS clinic chat-eu refused: data-retention/),
      expect.stringMatching(/^WIDENS support /),
      expect.stringMatching(
        /^BREAKS legal chat-eu refused: .*; only some callers who set allow_fallbacks false and order openai-us, openai-us then mistral-eu$/,
      ),
    ]);
  });

  it("has a line beside any number of other facts", async () => {
    const text = await screen([], US_FALLBACK, ...SEVERAL);
    expect(text).toMatch(/^BREAKS +clinic +chat-eu refused/m);
    expect(text).toMatch(/^BREAKS +legal +chat-eu refused/m);
    expect(text).toMatch(/^BREAKS +finance, hr +chat-eu refused/m);
    expect(text).toMatch(/… \d+ more below: [A-Z, ]+/);
    expect(text).not.toMatch(/more below: .*(BREAKS|NOTE|SAME|CHANGE\b)/);
  });
});

describe("rows of several causes", () => {
  it("follow one another cause by cause, each under its headline with its line", async () => {
    const rows = rowsOf(await screen([], PRICE, VERSION, FAST_FALLBACK));
    expect(rows.map((row) => row.replace(/^(\w+) .*?((?: routes\.yaml:\d+)?)$/, "$1$2"))).toEqual([
      "WIDENS",
      "NOTE",
      "COST",
      "CHANGE routes.yaml:69",
      "MOVES",
      "CHANGE routes.yaml:65",
    ]);
  });
});

describe("a promotion", () => {
  it("is named by the headline, and by no row of its cause", async () => {
    const text = await screen(
      [],
      [
        "data-retention",
        'tier != "regulated"\n',
        'tier != "regulated"\n\tinput.workspace.id != "support"\n',
      ],
    );
    expect(text).toMatch(/^BREAKS {2}support/m);
    expect(text).toContain("once it is promoted");
    expect(text).not.toContain("once promoted");
    // A policy's title may promise what its rules no longer do.
    expect(text.replaceAll(/\s+/g, " ")).toContain(
      'NOTE the title of data-retention says "Regulated workspaces use only providers that keep nothing"',
    );
  });
});

describe("a provider that keeps data", () => {
  const retention = (from: string, to: string): Edit => [
    "routes.yaml",
    `retention: ${from}\n    trains_on_data: false\n  openai-us`,
    `retention: ${to}\n    trains_on_data: false\n  openai-us`,
  ];

  it("longer than before widens, and the question is about its callers", async () => {
    const text = await screen([], retention("none", "days_30"));
    expect(text).toMatch(/^WIDENS +legal +chat, chat-eu: gpt-5-eu, 1st in order, is changed/m);
    expect(text).not.toMatch(/^MOVES/m);
    expect(text.replaceAll(/\s+/g, " ")).toContain(
      "may openai-eu keep data of legal, finance, hr and 2 more that long, and shall requests of clinic for chat-eu be refused?",
    );
  });
});

describe("a price", () => {
  it.each<[string, readonly Edit[], string]>([
    [
      "lowered",
      [["routes.yaml", "{ input: 1.38, output: 11 }", "{ input: 1.2, output: 9 }"]],
      "callers of clinic, finance, hr and 3 more who state max_price or sort by price are decided differently",
    ],
    [
      "raised",
      [PRICE],
      "callers of support, website who state max_price or sort by price are refused or decided differently",
    ],
  ])(
    "that is %s is a note about the workspaces whose callers choose by price",
    async (_, edits, note) => {
      const text = await screen([], ...edits);
      expect(text).not.toMatch(/^(BREAKS|WIDENS|MOVES|NARROWS) /m);
      expect(rowsOf(text)).toContain(`NOTE ${note}`);
    },
  );
});

describe("the question", () => {
  it("is about the new destination, although another endpoint of the route comes first", async () => {
    const text = await screen(
      [],
      [
        "routes.yaml",
        "      routes: [chat-eu]\n      regions: [eu, us]",
        "      routes: [chat-eu, chat]\n      regions: [eu, us]",
      ],
      ["data-retention", 'input.workspace.tier != "regulated"', 'input.workspace.tier != "none"'],
    );
    expect(text).toContain("may data of clinic go to openai-us in us, kept 30 days?");
  });

  it("names every new destination of a workspace, the worst first, and is one for each cause", async () => {
    const text = await screen([], NEW_WORKSPACE, PRICE);
    expect(text.replaceAll(/\s+/g, " ")).toContain(
      "may data of recruiting go to openai-us in us, kept 30 days; to openai-eu in eu, nothing kept; to mistral-eu in eu-west, nothing kept? does the provider of gpt-5-mini-us charge 0.3/2.4?",
    );
  });
});

describe("the cost of recorded answers", () => {
  it.each([
    [
      "counts refused calls, which are no saving",
      84,
      /2026-10-31; 84 calls refused, which is no saving$/,
    ],
    ["is bare where no recorded call is refused", 0, /2026-10-31$/],
  ])("%s", (_, seen, end) => {
    const refused = { ...NEWLY_DENIED, seen };
    const one = { ...everything(), declared: comparison("less_permissive", [refused]) };
    expect(spentTexts(modelOf(one))).toEqual([expect.stringMatching(end)]);
  });
});

describe("rows of a screen", () => {
  it("with a failing gate are never cut", async () => {
    const report = await simulated(REORDERED, US_FALLBACK, PRICE, VERSION, NEW_WORKSPACE);
    const verdict = verdictOf(report, {
      failOn: FAIL_ON_VALUES,
      promoting: false,
      detailedExitcode: false,
    });
    const { rows } = screenOf(modelOf(report), { verdict });
    const gated = rows.filter(({ gates }) => gates.length > 0);
    expect(gated.length).toBeGreaterThan(1);
    expect(gated.filter(({ alwaysShown }) => !alwaysShown)).toEqual([]);
    // Otherwise nothing is cut at all.
    expect(rows.filter(({ alwaysShown }) => !alwaysShown)).not.toEqual([]);
  });
});
