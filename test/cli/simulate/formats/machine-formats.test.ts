import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FormatContext } from "../../../../src/cli/simulate/formats/model.ts";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { printable } from "../../../../src/cli/terminal/printing.ts";
import type { SimulationReport } from "../../../../src/simulate/report/report.ts";
import { readXml } from "../../read-xml.ts";
import {
  comparison,
  everything,
  group,
  HOSTILE,
  huge,
  named,
  NEWLY_DENIED,
  report,
  usFallback,
  withCauses,
  WIDENED,
} from "./report-fixture.ts";
import { codePoint } from "../../../support/code-point.ts";

const CONTEXT: FormatContext = { colour: false, width: 80, reportDigest: null };
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: codePoint })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join(""));

describe("GitHub's annotations", () => {
  interface Command {
    readonly level: string;
    readonly properties: Readonly<Record<string, string>>;
    readonly message: string;
  }

  /**
   * Reads as GitHub's runner does: property by property, then the message; throws at a line that is
   * no annotation.
   */
  function readCommands(text: string): readonly Command[] {
    if (text !== "" && !text.endsWith("\n")) throw new Error("no line feed at the end");
    return text
      .split(/\r\n?|\n/)
      .slice(0, -1)
      .map((line) => {
        const found = /^::(error|warning|notice) ([^:]*)::(.*)$/su.exec(line);
        if (found === null) throw new Error(`not an annotation: ${line}`);
        const [, level = "", properties = "", message = ""] = found;
        const pairs = properties.split(",").map((pair) => {
          const [name = "", ...value] = pair.split("=");
          return [name, decode(value.join("="))];
        });
        return { level, properties: Object.fromEntries(pairs), message: decode(message) };
      });
  }

  function decode(text: string): string {
    const characters: Readonly<Record<string, string>> = {
      "25": "%",
      "0D": "\r",
      "0A": "\n",
      "3A": ":",
      "2C": ",",
    };
    return text.replaceAll(/%(25|0D|0A|3A|2C)/g, (_, digits: string) => characters[digits] ?? "");
  }

  test("have levels, locations and texts", () => {
    const commands = readCommands(FORMATS.github(withCauses(everything()), CONTEXT));
    expect(commands.map(({ level, properties }) => `${level} ${properties.title}`)).toEqual([
      "error incomplete",
      "error FAIL no-us-for-eu",
      "warning newly denied",
      "notice Signalbox simulation",
      "notice WAIVED prod-always-routable",
      "notice fallbacks widened",
    ]);
    const whole = readCommands(
      FORMATS.github({ ...withCauses(everything()), complete: true }, CONTEXT),
    );
    expect(whole.map(({ level, properties }) => `${level} ${properties.title}`)).toEqual([
      "error FAIL no-us-for-eu",
      "error coverage",
      ...commands.slice(2).map(({ level, properties }) => `${level} ${properties.title}`),
      "notice fallback never used",
    ]);
    expect(commands[1]).toMatchObject({
      properties: { file: "policies/assertions.yaml", line: "12", col: "5" },
      message: expect.stringContaining(
        "Example: acme-eu requests chat.completions of chat-eu, environment production",
      ),
    });
    expect(commands[0]?.properties).not.toHaveProperty("file");
  });

  test("are at most ten of each level, and the last counts the rest", () => {
    const many = huge();
    const few = { ...many.declared, groups: many.declared.groups.slice(0, 40) };
    const shown = withCauses({ ...many, declared: few, promoted: few });
    const commands = readCommands(FORMATS.github(shown, CONTEXT));
    for (const level of ["error", "warning", "notice"]) {
      const those = commands.filter((one) => one.level === level);
      expect(those).toHaveLength(10);
      expect(those.at(-1)?.message).toMatch(new RegExp(`^[\\d,]+ more ${level}s; `));
    }
    expect(commands.filter(({ level }) => level === "error").at(-1)?.message).toMatch(/^291 more/);
  });

  test("are exactly ten for ten groups, without a line about more", () => {
    const groups = Array.from({ length: 10 }, (_, index) =>
      group({ id: `${index}`, kinds: ["newly_denied"] }),
    );
    const compared = comparison("less_permissive", groups);
    const commands = readCommands(
      FORMATS.github(withCauses(report({ declared: compared, promoted: compared })), CONTEXT),
    );
    expect(
      commands.filter(({ level }) => level === "warning").map(({ properties }) => properties.title),
    ).toEqual(Array.from({ length: 10 }, () => "newly denied"));
  });

  test("no name begins another command or property", () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const commands = readCommands(FORMATS.github(withCauses(named(name)), CONTEXT));
        expect(commands).toHaveLength(
          readCommands(FORMATS.github(withCauses(named("name")), CONTEXT)).length,
        );
        for (const { properties } of commands) {
          expect(["file,line,col,title", "title"]).toContain(Object.keys(properties).join(","));
          if (properties.file !== undefined)
            expect(properties.file).toBe(`${printable(name)}/a.yaml`);
        }
      }),
    );
  });
});

describe("JUnit XML", () => {
  test("has a case for each assertion and gate, and a last one for completeness", () => {
    const root = readXml(FORMATS.junit(everything(), CONTEXT));
    expect(root.attributes).toMatchObject({ tests: "6", failures: "2", skipped: "3" });
    const cases = root.children[0]?.children ?? [];
    expect(
      cases.map(({ attributes, children }) => [
        attributes.classname,
        attributes.name,
        children[0]?.name,
      ]),
    ).toEqual([
      ["no_new_access", "embeddings-stay", "system-out"],
      ["no_new_access", "no-us-for-eu", "failure"],
      ["always_routable", "prod-always-routable", "skipped"],
      ["coverage", "routes", "skipped"],
      ["coverage", "constraints", "skipped"],
      ["simulation", "simulation is complete", "failure"],
    ]);
    expect(cases[1]?.children[0]?.text).toContain("policies/assertions.yaml:12:5\n");
    expect(cases[1]?.children[0]?.text).toContain("Try: signalbox explain --workspace acme-eu");
    expect(cases[2]?.children[0]?.attributes.message).toBe(
      "waived until 2026-12-01 by platform: moving to the new route",
    );
    expect(cases[5]?.children[0]?.text).toContain("key.labels: 16 of 4,096 values");
  });

  test("without assertions there is one case, which passes for a complete report only", () => {
    expect(readXml(FORMATS.junit(report(), CONTEXT)).attributes).toMatchObject({
      tests: "1",
      failures: "0",
    });
    expect(readXml(FORMATS.junit(report({ complete: false }), CONTEXT)).attributes).toMatchObject({
      failures: "1",
    });
  });

  test("stays valid XML with the same cases under hostile names", () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const root = readXml(FORMATS.junit(named(name), CONTEXT));
        expect(root.children[0]?.children.map(({ children }) => children[0]?.name)).toEqual([
          "failure",
          "skipped",
          "skipped",
          "failure",
        ]);
      }),
    );
  });
});

describe("SARIF", () => {
  interface Log {
    readonly version: string;
    readonly runs: readonly {
      readonly tool: {
        readonly driver: {
          readonly name: string;
          readonly rules: readonly {
            readonly id: string;
            readonly shortDescription: { readonly text: string };
            readonly help: { readonly text: string };
            readonly defaultConfiguration: { readonly level: string };
          }[];
        };
      };
      readonly results: readonly {
        readonly ruleId: string;
        readonly ruleIndex: number;
        readonly level: string;
        readonly message: { readonly text: string };
        readonly locations?: readonly {
          readonly physicalLocation: {
            readonly artifactLocation: { readonly uri: string; readonly uriBaseId: string };
            readonly region: { readonly startLine: number; readonly startColumn: number };
          };
        }[];
        readonly partialFingerprints?: Readonly<Record<string, string>>;
        readonly suppressions?: readonly {
          readonly kind: string;
          readonly justification: string;
        }[];
      }[];
    }[];
  }

  /**
   * What SARIF 2.1.0 requires of the members that we write (§3.13, §3.19, §3.27, §3.29, §3.30,
   * §3.35, §3.49).
   */
  function readLog(text: string): Log["runs"][number] {
    const log: Log & { readonly $schema: string } = JSON.parse(text);
    expect(log.version).toBe("2.1.0");
    expect(log.$schema).toMatch(/sarif-2\.1\.0\.json$/);
    expect(log.runs).toHaveLength(1);
    const run = log.runs[0];
    if (run === undefined) throw new Error("no run");
    const { name, rules } = run.tool.driver;
    expect(name).toBe("signalbox");
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    const levels = ["none", "note", "warning", "error"];
    for (const rule of rules) {
      expect(rule.shortDescription.text).not.toBe("");
      expect(rule.help.text).not.toBe("");
      expect(levels).toContain(rule.defaultConfiguration.level);
    }
    for (const result of run.results) {
      expect(rules[result.ruleIndex]?.id).toBe(result.ruleId);
      expect(levels).toContain(result.level);
      expect(result.message.text).not.toBe("");
      for (const { physicalLocation } of result.locations ?? []) {
        const { artifactLocation, region } = physicalLocation;
        expect(artifactLocation.uriBaseId).toBe("%SRCROOT%");
        expect(artifactLocation.uri).toMatch(
          /^(?:[\w.!~*'()-]|%[0-9A-F]{2})+(?:\/(?:[\w.!~*'()-]|%[0-9A-F]{2})*)*$/,
        );
        expect(region.startLine).toBeGreaterThan(0);
        expect(region.startColumn).toBeGreaterThan(0);
      }
      for (const value of Object.values(result.partialFingerprints ?? {}))
        expect(typeof value).toBe("string");
      for (const { kind } of result.suppressions ?? [])
        expect(["inSource", "external"]).toContain(kind);
    }
    return run;
  }

  test("has a result for every reviewable finding, with its rule, level, location and fingerprint", () => {
    const { results } = readLog(FORMATS.sarif(withCauses(everything()), CONTEXT));
    expect(results.map(({ ruleId, level }) => `${level} ${ruleId}`)).toEqual([
      "error incomplete",
      "error assertion_failed",
      "note assertion_waived",
      "note fallbacks_widened",
      "warning newly_denied",
    ]);
    const whole = readLog(
      FORMATS.sarif({ ...withCauses(everything()), complete: true }, CONTEXT),
    ).results;
    expect(whole.map(({ ruleId }) => ruleId)).toEqual([
      "assertion_failed",
      "assertion_waived",
      "coverage_failed",
      ...results.slice(3).map(({ ruleId }) => ruleId),
      "dead_configuration",
    ]);
    expect(results[2]?.suppressions).toEqual([
      {
        kind: "external",
        status: "accepted",
        justification: "until 2026-12-01 by platform: moving to the new route",
      },
    ]);
    expect(results[3]?.partialFingerprints).toEqual({
      "signalboxCause/v1": `cause ${WIDENED.id}`,
    });
    expect(results[4]?.message.text).toMatch(/, once tool-approval is promoted$/m);
    expect(results[4]?.partialFingerprints).toEqual({
      "signalboxCause/v1": `cause ${NEWLY_DENIED.id}`,
    });
  });

  test("creates no links from brackets in names", () => {
    const link = "[Fixed in release 2](https://elsewhere.example)";
    const { results } = readLog(FORMATS.sarif(withCauses(named(link)), CONTEXT));
    const texts = results.map(({ message }) => message.text);
    expect(texts.some((text) => text.includes(String.raw`\[Fixed in release 2\](`))).toBe(true);
    for (const text of texts) expect(text).not.toMatch(/(?<!\\)\[[^\]]*\]\(/);
  });

  test("an empty report has no results, and results without a waiver have no suppressions", () => {
    expect(readLog(FORMATS.sarif(report(), CONTEXT)).results).toEqual([]);
    for (const { suppressions } of readLog(FORMATS.sarif(withCauses(usFallback()), CONTEXT))
      .results)
      expect(suppressions).toBeUndefined();
  });

  test("fingerprints distinguish results and stay the same for the same change", () => {
    const prints = (one: SimulationReport): readonly string[] =>
      readLog(FORMATS.sarif(one, CONTEXT)).results.map(({ ruleId, partialFingerprints }) =>
        JSON.stringify([ruleId, partialFingerprints]),
      );
    const groups = ["a", "b", "c", "d"].map((id) => group({ id }));
    const four = (those: typeof groups): SimulationReport => {
      const compared = comparison("more_permissive", those);
      return withCauses(report({ declared: compared, promoted: compared }));
    };
    expect(new Set(prints(four(groups))).size).toBe(4);
    expect(prints(four(groups.toReversed())).toSorted()).toEqual(prints(four(groups)).toSorted());
  });

  test("no name breaks the log, nor the address of a file", () => {
    fc.assert(
      fc.property(hostile, (name) => {
        expect(readLog(FORMATS.sarif(withCauses(named(`a${name}`)), CONTEXT)).results).toHaveLength(
          readLog(FORMATS.sarif(withCauses(named("name")), CONTEXT)).results.length,
        );
      }),
    );
  });
});
