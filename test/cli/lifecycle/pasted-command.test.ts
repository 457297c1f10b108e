import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pastedCommand } from "../../../src/cli/policy/lifecycle/policy-lines.ts";
import { shellLine } from "../../../src/simulate/explain/explain-arguments.ts";

describe("commands of a server", () => {
  const word = fc.stringMatching(/^[\w@%+:,./ {}"$;&|<>()*?~#!=-]{0,20}$/);

  it("are unchanged where they are explanations", () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const line = shellLine(["explain", ...words]);
        expect(pastedCommand(line)).toBe(`signalbox ${line}`);
      }),
    );
  });

  it("contain nothing that a shell interprets, for all names from requests", () => {
    const text = fc.oneof(
      fc.string(),
      fc
        .array(fc.oneof(word, fc.constantFrom("explain", "'", "''", "$(", "`", "\\", "\n", " ")))
        .map((parts) => parts.join(" ")),
      fc.string().map((tail) => `explain ${tail}`),
    );
    fc.assert(
      fc.property(text, (sent) => {
        const command = pastedCommand(sent);
        if (command === null) return;
        expect(command).toMatch(/^signalbox explain/);
        // Without what stands in quotes nothing is left but plain words.
        expect(command.replaceAll(/\$?'(?:[^'\\]|\\.)*'/g, "x")).toMatch(/^[\w@%+:,./= -]*$/);
      }),
      { numRuns: 2_000 },
    );
  });
});
