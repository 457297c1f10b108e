import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesBelow, SOURCE, textOf } from "./support/imports.ts";

/**
 * Tokens that each folder of `src` may have, in thousands: what it had on 2026-11-28, rounded up. A
 * figure here is only ever lowered; a new folder takes its tokens from the others. `server` has the
 * webhook of alerts since, `cli` and `compile` have the price list, and `cli` the commands of issue
 * 44; `canon`, `policy` and `governance` paid for them in part. `policy` and `simulate` have the
 * clocks of time zones since (decision 45).
 */
const CEILINGS: Readonly<Record<string, number>> = {
  canon: 22,
  cli: 149,
  compile: 43,
  decide: 9,
  dialects: 135,
  dispatch: 35,
  evidence: 5,
  governance: 13,
  http: 76,
  keys: 15,
  lifecycle: 9,
  limits: 13,
  network: 1,
  policy: 29,
  server: 25,
  simulate: 114,
  store: 40,
  telemetry: 10,
  validation: 1,
};

/**
 * Thousands of tokens by which a folder may be below its ceiling before the ceiling has to follow.
 */
const SLACK = 3;

/**
 * A comment, or a token: text in quotes or backticks, a name or number, an operator of several
 * characters, another character.
 */
const TOKEN =
  /\/\/.*|\/\*[^]*?\*\/|(["'`])(?:\\[^]|(?!\1)[^\\])*\1|[\w$#]+(?:\.\d+)?|=>|\.{3}|\?\.|(?:\?\?|&&|\|\||\*\*|[-+*/%&|^<>=!])?={1,2}(?!>)|\?\?|&&|\|\||\*\*|\+\+|--|\S/g;

/** Lines can be joined and files can be split; tokens remain. */
function tokensOf(text: string): number {
  return text.match(TOKEN)?.filter((token) => !/^\/[/*]/.test(token)).length ?? 0;
}

const weights = new Map(
  readdirSync(SOURCE, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const files = filesBelow(join(SOURCE, name)).filter((path) => /(?<!\.d)\.tsx?$/.test(path));
      return [name, files.reduce((sum, path) => sum + tokensOf(textOf(path)), 0)];
    }),
);

describe("the weight of the sources", () => {
  it("no folder of src has more tokens than its ceiling", () => {
    const above = [...weights].flatMap(([name, tokens]) => {
      const ceiling = 1_000 * (CEILINGS[name] ?? 0);
      return tokens <= ceiling
        ? []
        : [
            `src/${name}: ${tokens} tokens, ceiling ${ceiling}. An addition is paid for by the code that it replaces: delete that.`,
          ];
    });
    expect(above).toEqual([]);
  });

  it("every ceiling is close to the tokens of its folder", () => {
    const high = Object.entries(CEILINGS).flatMap(([name, ceiling]) => {
      const lower = Math.ceil((weights.get(name) ?? 0) / 1_000);
      return ceiling - lower < SLACK
        ? []
        : [`src/${name}: lower its ceiling from ${ceiling} to ${lower}`];
    });
    expect(high).toEqual([]);
  });

  it("counts tokens without comments, for every line break", () => {
    const code =
      'const a = "b // c" /* d\n */; // e\nif (x?.y !== `f ${g}`) a.push(...h, 1_000, 0.5);';
    expect([tokensOf(code), tokensOf(code.replaceAll("; ", ";\n"))]).toEqual([25, 25]);
  });
});
