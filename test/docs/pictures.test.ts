import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DRAWINGS } from "../../tools/pictures/drawings.ts";
import { messagesUpstream } from "../../tools/pictures/streamed.ts";
import { ROOT } from "./commands/blocks.ts";

it.each(Object.entries(DRAWINGS))(
  "docs/images/%s matches the output of npm run tool -- pictures",
  (name, draw) => {
    expect(readFileSync(join(ROOT, "docs/images", name), "utf8")).toBe(draw());
  },
);

it("the drawn stream is the translation's own: the client gets text, an end and the usage", () => {
  const sent = messagesUpstream().flatMap((step) => step.sent);
  expect(sent.join("\n")).toContain('"content":"morning."');
  expect(sent.join("\n")).toContain('"finish_reason":"stop"');
  expect(sent.at(-1)).toBe("data: [DONE]");
});
