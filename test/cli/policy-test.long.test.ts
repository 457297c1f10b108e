import { describe, expect, test } from "vitest";
import type { Ran } from "../keys/command.ts";
import { gatePolicy, testsOf, workplace, type Workplace } from "./policy-folder.ts";

const PASSING = `standard := {"workspace": {"tier": "standard"}}

test_standard_passes if {
	print("evaluated with", standard)
	policy.pass.tier_approved with input as standard
}

test_others_do_not if not policy.pass.tier_approved with input as {"workspace": {"tier": "regulated"}}
`;

const TROUBLED = `test_does_not_hold if {
	print("\u001b[31mred", {"tier": "new"})
	policy.pass.tier_approved with input as {"workspace": {"tier": "new"}}
}

test_cases[tier] if {
	some tier in ["standard", "regulated"]
	policy.pass.tier_approved with input as {"workspace": {"tier": tier}}
}

test_conflict if two == 1

two := 1 if true

two := 2 if true

todo_test_later if false
`;

const SOUND = {
  "policies/sound.rego": gatePolicy("sound"),
  "policies/sound_test.rego": testsOf("sound", PASSING),
};
const BAD = {
  "policies/troubled.rego": gatePolicy("troubled"),
  "policies/troubled_test.rego": testsOf("troubled", TROUBLED),
};

/** Durations are the only thing that differs from run to run. */
function timeless(text: string): string {
  return text.replaceAll(/\d+\.\d+ m?s\b/g, "TIME");
}

async function runTests(work: Workplace, ...argv: readonly string[]): Promise<Ran> {
  const ran = await work.run(["test", ...argv]);
  return { ...ran, stdout: timeless(ran.stdout) };
}

describe("signalbox policy test", () => {
  test("a run in which all tests pass exits with 0 and prints a line for each policy", async () => {
    expect(
      await runTests(workplace({ ...SOUND, "policies/untested.rego": gatePolicy("untested") })),
    ).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "PASS  sound     2 tests  TIME\nNONE  untested  no tests\n\n2 tests: 2 passed in TIME\n",
    });
  });

  test("a failure is printed with its location, cases and output, without terminal escapes", async () => {
    const { code, stdout } = await runTests(workplace({ ...SOUND, ...BAD }));
    expect(code).toBe(1);
    expect(stdout).toBe(`PASS  sound     2 tests  TIME
FAIL  troubled  4 tests, 2 failed, 1 error, 1 skipped  TIME
      failed   test_does_not_hold  TIME
               policies/troubled_test.rego:5:1
               printed | \uFFFD[31mred {"tier": "new"}
      failed   test_cases  TIME
               policies/troubled_test.rego:10:1
               failing case: regulated
      error    test_conflict  TIME
               policies/troubled_test.rego:15:1
               policies/troubled_test.rego:19: eval_conflict_error: rule data.signalbox.policy.troubled_test.two produced conflicting values:
                 1 at policies/troubled_test.rego:17
                 2 at policies/troubled_test.rego:19

6 tests: 2 passed, 2 failed, 1 error, 1 skipped in TIME
`);
  });

  test("--verbose prints passing tests and their output, --run selects by id and name", async () => {
    const work = workplace({ ...SOUND, ...BAD });
    expect(await runTests(work, "--verbose", "--run", "^sound\\.test_standard")).toEqual({
      code: 0,
      stderr: "",
      stdout: `PASS  sound  1 test  TIME
      ok       test_standard_passes  TIME
               printed | evaluated with {"workspace": {"tier": "standard"}}

1 test: 1 passed in TIME
`,
    });
    expect((await runTests(work, "--run", "does_not")).code).toBe(1);
  });

  test("policies that do not compile are not tested; every format prints the reason", async () => {
    const work = workplace({
      ...SOUND,
      "policies/broken.rego": gatePolicy("broken", "pass.other if true"),
    });
    const place13 = { file: "policies/broken.rego", line: 13 };
    const terminal = await runTests(work);
    expect(terminal.code).toBe(1);
    expect(terminal.stdout).toContain("error POLICY_CONSTRAINT_UNDECLARED");
    expect(terminal.stdout).not.toContain("PASS");
    const json = JSON.parse((await runTests(work, "--format", "json")).stdout);
    expect(json).toMatchObject({ version: 1, tests: 0, policies: [], coverage: null });
    expect(json.diagnostics).toContainEqual(expect.objectContaining(place13));
    expect((await runTests(work, "--format", "junit")).stdout).toContain('failures="2"');
    expect((await runTests(work, "--format", "github")).stdout).toContain(
      "::error file=policies/broken.rego,line=13",
    );
  });

  test("the JSON format has every test with its location", async () => {
    const { code, stdout } = await runTests(workplace({ ...SOUND, ...BAD }), "--format", "json");
    expect(code).toBe(1);
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      version: 1,
      tests: 6,
      passed: 2,
      failed: 2,
      errors: 1,
      skipped: 1,
      diagnostics: [],
    });
    expect(document.policies[1].tests[1]).toMatchObject({
      name: "test_cases",
      outcome: "fail",
      file: "policies/troubled_test.rego",
      line: 10,
      column: 1,
      cases: ["regulated"],
    });
  });

  test("the GitHub format annotates the tests that fail", async () => {
    const { stdout } = await runTests(workplace({ ...SOUND, ...BAD }), "--format", "github");
    expect(stdout.split("\n").map((line) => line.slice(0, line.indexOf("::", 2)))).toEqual([
      "::error file=policies/troubled_test.rego,line=5,col=1,title=POLICY_TEST_FAILED",
      "::error file=policies/troubled_test.rego,line=10,col=1,title=POLICY_TEST_FAILED",
      "::error file=policies/troubled_test.rego,line=15,col=1,title=POLICY_TEST_ERROR",
      "",
    ]);
    expect(stdout).toContain("%0A  1 at policies/troubled_test.rego:17%0A");
  });

  test.for([
    [SOUND, ["--run", "no_such"], "--run: no test of policies matches"],
    [
      { "policies/a.rego": gatePolicy("a") },
      [],
      "policies: there are no tests; write <id>_test.rego",
    ],
    [{ "policies/readme.md": "" }, ["--coverage"], "policies: there are no tests"],
  ] as const)("a run without tests fails: %#", async ([files, argv, message]) => {
    const { code, stdout, stderr } = await runTests(workplace(files), ...argv);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
  });

  test.for([
    [["--format", "sarif"], "--format: must be one of terminal, json, junit, github"],
    [["--run", "("], "--run: is not a regular expression"],
    [["--run", "x", "--strict"], "--run: coverage is that of all tests"],
    [["--timeout", "0"], "--timeout: must be a whole number from 1 to 3600, in seconds"],
    [["--timeout", "1.5"], "--timeout: must be a whole number from 1 to 3600, in seconds"],
    [["--threshold", "101"], "--threshold: must be a number from 0 to 100"],
    [["--threshold", "most"], "--threshold: must be a number from 0 to 100"],
    [["sound"], "name tests with --run"],
  ] as const)("%j exits with 2 and names the mistake", async ([argv, message]) => {
    const { code, stdout, stderr } = await workplace(SOUND).run(["test", ...argv]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });
});

describe("tests that do not end", () => {
  const letters = JSON.stringify(Array.from("abcdefghijklmnopqrst"));
  const nested = Array.from("abcdefgh")
    .map((name) => `some ${name} in letters`)
    .join("\n\t");
  const endless = `letters := ${letters}

test_endless if {
\tnot policy.pass.tier_approved with input as {"workspace": {"tier": "regulated"}}
\t${nested}
\tconcat("", [a, b, c, d, e, f, g, h]) == "no such text"
}
`;
  const files = {
    ...SOUND,
    "policies/slow.rego": gatePolicy("slow"),
    "policies/slow_test.rego": testsOf("slow", endless),
  };

  test("are ended after --timeout, with the files in which they are", async () => {
    const { code, stdout, stderr } = await workplace(files).run(["test", "--timeout", "5"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("--timeout: the tests did not end within 5 s");
    expect(stderr).toContain("slow_test.rego");
  });
});

describe("the policies shipped with Signalbox", () => {
  const cwd = new URL("../../", import.meta.url).pathname;
  const repository = async (...argv: readonly string[]): Promise<Ran> =>
    await workplace().run(argv, { cwd, environment: {} });

  test.for([
    ["check", "--strict"],
    ["fmt", "--check"],
    ["test", "--strict", "--threshold", "100"],
  ] as const)("pass signalbox policy %s %s", async (argv) => {
    const { code, stdout, stderr } = await repository(...argv);
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  });
});
