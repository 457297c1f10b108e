import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { check } from "../../../src/cli/check.ts";
import { explainCode, explainedCodes } from "../../../src/cli/codes/explained-codes.ts";
import { withNavigationOf } from "../../../tools/generate/navigation.ts";
import { troubleshootingPage } from "../../../tools/generate/troubleshooting-page.ts";
import { ERROR_KINDS } from "../../../src/canon/error.ts";
import { ERROR_ANSWERS } from "../../../src/canon/error-codes.ts";
import { ROUTE_CODES, TEXT_CODES } from "../../../src/compile/findings/codes.ts";
import { POLICY_CODES } from "../../../src/policy/codes.ts";
import { ASSERTION_CODES } from "../../../src/simulate/assertions/codes.ts";
import { parse, SIDE } from "../../simulate/assertions/samples.ts";
import { ASSERTION_SAMPLES, BASE_OF_SAMPLES } from "./assertion-samples.ts";
import { fileExamples, policyExamples, routeExamples } from "./case-examples.ts";

const ROOT = new URL("../../../", import.meta.url);
const UPDATE = process.env.UPDATE_DOCS === "1";

/** What no short file can bring about. */
const SITUATIONS = {
  configuration: {
    SOURCE_UNREADABLE: ["signalbox check --config routse.yaml"],
    SOURCE_TOO_LARGE: ["A routes.yaml of two megabytes."],
  },
  policies: {
    POLICY_REGION_UNKNOWN: [
      "# policies/a.rego, where routes.yaml has no region `eu-north`",
      "#   prefer: {kind: prefer_region, value: eu-north}",
    ],
    POLICY_SLOW: [
      "# policies/a.rego, where `customers` has a hundred names",
      "same if { some one in customers; some two in customers; some three in customers; one == two; two == three }",
    ],
    POLICY_TOOLCHAIN: ["An installation whose tools/rego/dist was not copied whole."],
    POLICY_TOO_LARGE: ["A policy with a list of ten thousand customers."],
    POLICY_WORD_UNKNOWN: [
      "# policies/a.rego, where routes.yaml has the label `sensitive`",
      'pass.fine if not "senstive" in input.workspace.labels',
    ],
  },
} as const;

function committed(path: string, written: string): string {
  if (UPDATE) writeFileSync(new URL(path, ROOT), written);
  return readFileSync(new URL(path, ROOT), "utf8");
}

/**
 * Codes that the sources of the API give: the literals before the sentence of every error that is
 * made.
 */
function codesOfSources(): ReadonlySet<string> {
  const folder = new URL("src/", ROOT);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !/^(?:mock|cli)[\\/]/.test(name),
  );
  const found = new Set<string>(ERROR_ANSWERS.keys());
  for (const name of files) {
    const text = readFileSync(new URL(name, folder), "utf8");
    for (const [, call = "", head = ""] of text.matchAll(
      /\b(serviceError|invalidRequest)\(((?:\s*(?:\d+|[\w.]+ \? \d+ : \d+),)?(?:\s*"[a-z_]+",){1,2})/g,
    )) {
      const literals = [...head.matchAll(/"([a-z_]+)"/g)].map(([, literal = ""]) => literal);
      const code = call === "serviceError" ? literals[1] : literals[0];
      if (code !== undefined) found.add(code);
    }
    for (const [, code = ""] of text.matchAll(/\brefused\([^;]*?,\s*"([a-z_]+)"\)/g))
      found.add(code);
    for (const [, set = ""] of text.matchAll(
      /const (?:SAFE_CODES|CODES|MISSING_CODES)\b[^=]*=([^;]*);/g,
    )) {
      for (const [, code = ""] of set.matchAll(/(?:: |, |\s)"([a-z_]+)"/g)) found.add(code);
    }
  }
  return found;
}

describe("explanations of codes", () => {
  test("the examples of findings are those of the golden cases", () => {
    const assertions = Object.fromEntries(
      Object.entries(ASSERTION_SAMPLES).map(([code, text]) => [code, text.trimEnd().split("\n")]),
    );
    const shared = Object.fromEntries(
      Object.entries(routeExamples()).filter(([code]) => Object.hasOwn(TEXT_CODES, code)),
    );
    const written = {
      configuration: { ...routeExamples(), ...fileExamples(), ...SITUATIONS.configuration },
      policies: { ...policyExamples(), ...SITUATIONS.policies },
      assertions: { ...shared, ...SITUATIONS.configuration, ...assertions },
    };
    // The formatter has its own idea of short lists, so values are compared and not bytes.
    const text = `${JSON.stringify(written, null, 2)}\n`;
    expect(JSON.parse(committed("src/cli/codes/examples.json", text))).toEqual(written);
  });

  test.each(Object.entries(ASSERTION_SAMPLES))(
    "the sample of %s raises that code",
    (code, text) => {
      const { diagnostics } = parse(text, BASE_OF_SAMPLES, SIDE);
      expect(diagnostics.map((diagnostic) => diagnostic.code)).toContain(code);
    },
  );

  test.each([
    ["configuration", ROUTE_CODES],
    ["policies", POLICY_CODES],
    ["assertions", ASSERTION_CODES],
  ] as const)("every code of %s has a meaning, an example and a fix", (kind, codes) => {
    for (const code of Object.keys(codes)) {
      const meaning = explainCode(code).find((one) => one.kind === kind);
      expect(meaning?.meaning, code).toBeTruthy();
      expect(meaning?.example.join("").trim(), code).toBeTruthy();
      expect(meaning?.fix, code).toBeTruthy();
    }
  });

  test("every code of a finding outside of the tables is explained", () => {
    const folder = new URL("src/", ROOT);
    const found = new Set<string>();
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((one) =>
      one.endsWith(".ts"),
    )) {
      const text = readFileSync(new URL(name, folder), "utf8");
      // Codes of providers in the built-in simulated upstream are no findings.
      if (/^(?:mock|dialects)[\\/]/.test(name)) continue;
      for (const [, code = ""] of text.matchAll(
        /(?:\bcode: |\bcode: TestFailureCode = |, one, |TestFailureCode = )"([A-Z][A-Z_]+)"/g,
      ))
        found.add(code);
      for (const [, code = ""] of text.matchAll(
        /"([A-Z]+_NEVER_SEEN[A-Z_]*|POLICY_NOT_TESTED|COVERAGE_[A-Z_]+|POLICY_TEST_[A-Z]+)"/g,
      ))
        found.add(code);
    }
    expect([...found]).toEqual(
      expect.arrayContaining(["SECRET_NOT_SET", "SECRET_UNUSABLE", "POLICY_TEST_FAILED"]),
    );
    expect([...found].filter((code) => explainCode(code).length === 0)).toEqual([]);
  });

  test("every code of the API's answers is explained", () => {
    const codes = [...codesOfSources()].filter(
      (code) => !ERROR_KINDS.some((kind) => kind === code),
    );
    // A scan that finds nothing would pass.
    expect(codes.length).toBeGreaterThan(100);
    expect(codes).toEqual(
      expect.arrayContaining(["no_healthy_endpoint", "origin_not_allowed", "soak_not_met"]),
    );
    expect(
      codes.filter((code) => !explainCode(code).some(({ kind }) => kind === "answers")),
    ).toEqual([]);
  });

  test("docs/troubleshooting.md is written from the tables", () => {
    const page = withNavigationOf(
      readFileSync(new URL("docs/troubleshooting.md", ROOT), "utf8"),
      troubleshootingPage(),
    );
    expect(committed("docs/troubleshooting.md", page)).toBe(page);
  });
});

async function explain(...argv: readonly string[]) {
  let stdout = "";
  let stderr = "";
  const code = await check(["--explain", ...argv], {
    stdout: (written) => void (stdout += written),
    stderr: (written) => void (stderr += written),
    environment: {},
    // No file is needed to ask what a code means.
    cwd: join(import.meta.dirname, "nowhere"),
  });
  return { code, stdout, stderr };
}

describe("signalbox check --explain", () => {
  test.each(explainedCodes())(
    "%s is explained with its meaning, an example and a fix",
    async (code) => {
      const { code: exit, stdout } = await explain(code);
      expect(exit).toBe(0);
      for (const part of [code, "What it means", "For example", "What to do"])
        expect(stdout).toContain(part);
    },
  );

  test("accepts a code in any case", async () => {
    expect((await explain("unknown_region")).stdout).toContain(
      "UNKNOWN_REGION in routes.yaml (error)",
    );
  });

  test("a code of several files is explained with all of its meanings", async () => {
    const { stdout } = await explain("UNKNOWN_KEY");
    expect(stdout).toContain("UNKNOWN_KEY in routes.yaml (error)");
    expect(stdout).toContain("UNKNOWN_KEY in assertions.yaml (error)");
  });

  test("an unknown code exits with 2, and the nearest one is named", async () => {
    const { code, stderr } = await explain("UNKNOWN_REGON");
    expect(code).toBe(2);
    expect(stderr).toContain("did you mean `UNKNOWN_REGION`?");
    expect((await explain("zzzzzzzzzz")).stderr).toContain(
      "docs/troubleshooting.md lists those of answers",
    );
  });
});
