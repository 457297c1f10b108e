import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { simulated, type Edit } from "../../../simulate/causes/fixture.ts";
import {
  listText,
  numberText,
  percentageText,
  printable,
  shapesText,
} from "../../../../src/cli/terminal/printing.ts";
import {
  ACCESS_WORDING,
  changeWording,
  titleOf,
  worstChange,
} from "../../../../src/cli/simulate/formats/wording/comparison.ts";
import {
  accessSentence,
  policyDifferences,
} from "../../../../src/cli/simulate/formats/wording/comparison.ts";
import { evidenceCautions } from "../../../../src/cli/simulate/formats/model.ts";
import {
  explainCommand,
  shellArgument,
} from "../../../../src/simulate/explain/explain-arguments.ts";
import { CHANGE_KINDS } from "../../../../src/simulate/change-kind.ts";
import { programAtHand } from "../../../support/at-hand.ts";
import { everything, HOSTILE, side } from "./report-fixture.ts";
import { codePoint } from "../../../support/code-point.ts";

describe("amounts", () => {
  test.each([
    ["0", "0"],
    ["999", "999"],
    ["1926400", "1,926,400"],
    ["1000000000000", "1,000,000,000,000"],
    ["1000000000001", "1.0 × 10^12"],
    ["9949999999999", "9.9 × 10^12"],
    ["9950000000000", "1.0 × 10^13"],
    ["1926400000000000000", "1.9 × 10^18"],
    [String(10n ** 400n), "1.0 × 10^400"],
  ])("%s shapes are written as %s", (digits, text) => {
    expect(shapesText(digits)).toBe(text);
  });

  test("whole numbers are read back unchanged", () => {
    fc.assert(
      fc.property(fc.nat(), (amount) => {
        expect(numberText(amount)).toBe(amount.toLocaleString("en-US"));
      }),
    );
  });

  test("a share is never rounded up to all, nor a little down to nothing", () => {
    expect(percentageText(999_999, 1_000_000)).toBe("99.9 %");
    expect(percentageText(1, 1_000_000)).toBe("less than 0.1 %");
    expect(percentageText(0, 0)).toBe("0.0 %");
    expect(percentageText(7, 7)).toBe("100.0 %");
  });

  test("a list is cut only where that omits more than one item", () => {
    expect(listText(["a", "b", "c"], 2)).toBe("a, b, c");
    expect(listText(["a", "b", "c", "d"], 2)).toBe("a, b and 2 more");
  });
});

describe("kinds of changes", () => {
  test("every kind has its own title, and the worst sets the symbol", () => {
    expect(new Set(CHANGE_KINDS.map((kind) => changeWording(kind).title)).size).toBe(
      CHANGE_KINDS.length,
    );
    expect(new Set(Object.values(ACCESS_WORDING).map(({ title }) => title)).size).toBe(4);
    for (const kind of CHANGE_KINDS) expect(titleOf([kind])).toBe(changeWording(kind).title);
    expect(worstChange(["fallbacks_widened", "newly_denied"])).toBe("newly_denied");
    expect(titleOf(["fallbacks_widened", "newly_denied"])).toBe("newly denied, fallbacks widened");
  });

  test("evidence without a problem has no warning", () => {
    const { evidence } = everything();
    if (evidence === null) throw new Error("no evidence");
    expect(evidenceCautions({ ...evidence, not_reproduced: 0, unreadable: 0 })).toEqual([]);
    expect(evidenceCautions({ ...evidence, not_reproduced: 0, unreadable: 2 })).toEqual([
      "2 lines are not evidence and not counted",
    ]);
    expect(evidenceCautions({ ...evidence, not_reproduced: 1, unreadable: 0 })).toHaveLength(1);
  });

  test("policies that differ are listed, new and removed ones first, then by id", () => {
    const before = side("a", {
      policies: [
        { id: "changing", digest: "1", slot: "enforced", content: "rules", from: "base" },
        { id: "ending", digest: "1", slot: "enforced", content: "rules", from: "base" },
        { id: "gone", digest: "1", slot: "candidate", content: "rules", from: "base" },
        { id: "moved", digest: "1", slot: "candidate", content: "rules", from: "base" },
        { id: "same", digest: "1", slot: "enforced", content: "rules", from: "base" },
        { id: "text", digest: "1", slot: "enforced", content: "rules", from: "base" },
      ],
    });
    const after = side("b", {
      policies: [
        { id: "changing", digest: "1", slot: "enforced", content: "rules", from: "base" },
        { id: "changing", digest: "2", slot: "candidate", content: "rules", from: "head" },
        { id: "ending", digest: "1", slot: "enforced", content: "rules", from: "base" },
        { id: "ending", digest: "3", slot: "candidate", content: "removal", from: "head" },
        { id: "moved", digest: "1", slot: "enforced", content: "rules", from: "head" },
        { id: "new", digest: "1", slot: "enforced", content: "rules", from: "head" },
        { id: "same", digest: "1", slot: "enforced", content: "rules", from: "head" },
        { id: "text", digest: "2", slot: "enforced", content: "rules", from: "head" },
        { id: "text", digest: "3", slot: "candidate", content: "rules", from: "head" },
      ],
    });
    expect(policyDifferences(before, after)).toEqual([
      { mark: "+", id: "new", what: "new, enforced", digests: "" },
      { mark: "-", id: "gone", what: "gone, it was candidate", digests: "" },
      {
        mark: "~",
        id: "changing",
        what: "enforced, its change waits to be promoted",
        digests: "1 → 2",
      },
      { mark: "~", id: "ending", what: "enforced, its removal waits to be promoted", digests: "1" },
      { mark: "~", id: "moved", what: "candidate → enforced", digests: "" },
      {
        mark: "~",
        id: "text",
        what: "enforced → enforced and candidate, text changed",
        digests: "1 → 2 and 3",
      },
    ]);
  });
});

describe("commands", () => {
  test.each([
    ["plain-1.5_x/y:z", "plain-1.5_x/y:z"],
    ["--needs=tools", "--needs=tools"],
    ["=ls", "'=ls'"],
    ["~", "'~'"],
    ["", "''"],
    ["a b", "'a b'"],
    ["it's", "'it'\\''s'"],
    ["\u001b[31m'", "$'\\033[31m\\''"],
  ])("%j is written %s", (argument, written) => {
    expect(shellArgument(argument)).toBe(written);
  });

  const part = fc.array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: codePoint })), {
    maxLength: 3,
  });
  const argument = part.map((parts) => parts.join("").toWellFormed().replaceAll("\0", ""));

  test("no character in them moves a cursor", () => {
    fc.assert(
      fc.property(fc.array(argument, { maxLength: 4 }), (args) => {
        const command = explainCommand(args);
        expect(printable(command)).toBe(command);
      }),
    );
  });

  const bash = programAtHand("bash");

  test.skipIf(bash === null)("a shell reads the arguments unchanged (needs bash)", () => {
    const commands = fc.sample(fc.array(argument, { minLength: 1, maxLength: 20 }), 100);
    const input = commands.map((args) => `printf '%s\\0' ${args.map(shellArgument).join(" ")}`);
    const read = execFileSync(bash ?? "", ["--norc"], {
      encoding: "utf8",
      input: input.join("\n"),
    });
    expect(read.split("\0")).toEqual([...commands.flat(), ""]);
  });
});

describe("the first sentence of the details", () => {
  const WAITS: Edit = [
    "data-retention",
    'candidate.retention == "none"',
    'candidate.retention == "unlimited"',
  ];
  const VERSION: Edit = ["routes.yaml", "mistral-large-2512", "mistral-large-2603"];
  const ORDER: Edit = [
    "routes.yaml",
    "primary: gpt-5-eu\n    fallbacks: [mistral-large-eu]",
    "primary: mistral-large-eu\n    fallbacks: [gpt-5-eu]",
  ];
  const GAIN: Edit = ["routes.yaml", "fallbacks: [mistral-large-eu]", "fallbacks: [gpt-5-us]"];

  test.each<[string, readonly Edit[], string]>([
    [
      "of a change that waits to be promoted holds until then",
      [WAITS],
      "Until promoted, no request gains or loses an endpoint.",
    ],
    [
      "of another version does not speak of access",
      [VERSION],
      "No route reaches a new destination; endpoints differ in order, version or settings.",
    ],
    [
      "of another order does not speak of access",
      [ORDER],
      "No route reaches a new destination; endpoints differ in order, version or settings.",
    ],
    [
      "of endpoints that come and go is about both",
      [VERSION, GAIN],
      "Head allows something that base does not, and the other way round.",
    ],
  ])("%s", async (_, edits, sentence) => {
    expect(accessSentence(await simulated(...edits), "declared")).toBe(sentence);
  });
});
