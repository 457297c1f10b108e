import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { explain } from "../cli/explain-command.ts";

const PATH = resolve(import.meta.dirname, "../../docs/explain.md");
const EXAMPLE = /```console\n\$ npm run -s signalbox -- explain (.*)\n([\s\S]*?)```/g;

it(
  "every example in docs/explain.md prints the output on the page (npm run generate writes it)",
  { timeout: 60_000 },
  async () => {
    const page = readFileSync(PATH, "utf8");
    let written = page;
    const examples = [...page.matchAll(EXAMPLE)];
    expect(examples.length).toBeGreaterThan(1);
    for (const [whole, flags = ""] of examples) {
      // One argument in single quotes.
      const { code, stdout, stderr } = await explain(flags.replaceAll("'", "").split(" "));
      expect([code, stderr]).toEqual([0, ""]);
      const example = `\`\`\`console\n$ npm run -s signalbox -- explain ${flags}\n${stdout}\`\`\``;
      written = written.replace(whole, () => example);
    }
    if (process.env.UPDATE_DOCS === "1") writeFileSync(PATH, written);
    else expect(page).toBe(written);
  },
);
