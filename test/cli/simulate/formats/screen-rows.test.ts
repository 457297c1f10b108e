import { expect, it } from "vitest";
import { renderLines } from "../../../../src/cli/terminal/printing.ts";
import { firstScreen } from "../../../../src/cli/simulate/formats/screen/first-screen.ts";
import { screenOf } from "../../../../src/cli/simulate/formats/screen/screen.ts";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import { simulated, type Edit } from "../../../simulate/causes/fixture.ts";

async function screen(...edits: readonly Edit[]): Promise<string> {
  const model = modelOf(await simulated(...edits));
  const lines = firstScreen(screenOf(model, { verdict: null }), false);
  return renderLines(lines, { colour: false, width: 100 });
}

const REORDERED: readonly Edit[] = [
  [
    "routes.yaml",
    "primary: gpt-5-us\n    fallbacks: [gpt-5-eu]",
    "primary: gpt-5-eu\n    fallbacks: [gpt-5-us]",
  ],
];

it("a workspace of which only requests with conditions change is not called the same without saying so", async () => {
  // Without fallbacks a policy refused what came first.
  expect(await screen(...REORDERED)).toContain("SAME    legal (plain requests);");
});

it("another primary has its price and that of the former one", async () => {
  expect(await screen(...REORDERED)).toContain(
    "COST    gpt-5-eu 1.38/11 against gpt-5-us 1.25/10 USD per million tokens",
  );
});

it("rows without room are named by their tags", async () => {
  const text = await screen(
    ["routes.yaml", "fallbacks: [mistral-large-eu]", "fallbacks: [mistral-large-eu, gpt-5-us]"],
    ["routes.yaml", "\n  fast:\n", "\n  quick:\n"],
    ["routes.yaml", "chat-eu, fast]", "chat-eu, quick]"],
    ["routes.yaml", "[chat, fast]", "[chat, quick]"],
    ["data-retention", 'candidate.retention == "none"', 'candidate.retention != "unlimited"'],
  );
  expect(text.split("\n").length).toBeLessThanOrEqual(16);
  expect(text).toMatch(/… \d+ more below: [A-Z, ]+/);
});
