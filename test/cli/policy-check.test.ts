import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { gatePolicy, testsOf, workplace } from "./policy-folder.ts";

const UNUSED_LIBRARY = "package signalbox.lib.names\n\nlisted if input.operation\n";
const BROKEN = gatePolicy("broken", 'pass["tier_approved"] if input.workspace.teir == "standard"');

describe("signalbox policy check", () => {
  test("correct policies exit with 0, and their number is printed", async () => {
    const tests = testsOf("a", "test_a if policy.pass.tier_approved with input as {}");
    const { run } = workplace({
      "policies/a.rego": gatePolicy("a"),
      "policies/a_test.rego": tests,
      "policies/b.rego": gatePolicy("b"),
    });
    expect(await run(["check"])).toEqual({
      code: 0,
      stdout: "policies: 2 policies, 2 constraints, 1 with tests\n",
      stderr: "",
    });
  });

  test("an error exits with 1, and has the same location in every format", async () => {
    const { run } = workplace({ "own/broken.rego": BROKEN });
    const { code, stdout } = await run(["check", "--dir", "own"]);
    expect(code).toBe(1);
    expect(stdout).toContain("error POLICY_INPUT_PATH: input.workspace.teir does not exist");
    expect(stdout).toContain("--> own/broken.rego:13:");
    expect(stdout).toContain('13 | pass["tier_approved"] if input.workspace.teir');
    expect(stdout).not.toContain("with tests");
    const json = await run(["check", "--dir", "own", "--format", "json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      errors: 1,
      diagnostics: [{ file: "own/broken.rego", line: 13 }],
    });
    const github = await run(["check", "--dir", "own", "--format", "github"]);
    expect(github.stdout).toMatch(
      /^::error file=own\/broken\.rego,line=13,col=\d+,title=POLICY_INPUT_PATH::/,
    );
    const sarif = await run(["check", "--dir", "own", "--format", "sarif"]);
    expect(JSON.parse(sarif.stdout)).toMatchObject({ version: "2.1.0" });
    expect([json.code, github.code, sarif.code]).toEqual([1, 1, 1]);
  });

  test("a warning exits with 0, and with 1 under --strict", async () => {
    const { run } = workplace({
      "policies/a.rego": gatePolicy("a"),
      "policies/lib/names.rego": UNUSED_LIBRARY,
    });
    const { code, stdout } = await run(["check"]);
    expect(code).toBe(0);
    expect(stdout).toContain("warning POLICY_LIBRARY_UNUSED");
    expect((await run(["check", "--strict"])).code).toBe(1);
  });

  test("keeps compiled policies in the folder of --cache", async () => {
    const { path, run } = workplace({ "policies/a.rego": gatePolicy("a") });
    await run(["check", "--cache", "kept"]);
    expect(readdirSync(join(path, "kept")).length).toBeGreaterThan(0);
    expect(readdirSync(path).toSorted()).toEqual(["kept", "policies"]);
  });

  test.for([
    [["--format", "xml"], "--format: must be one of terminal, json, github, sarif"],
    [["policies"], "takes no arguments, only flags; name the folder with --dir"],
  ] as const)("%j exits with 2 and names the mistake", async ([argv, message]) => {
    const { code, stdout, stderr } = await workplace().run(["check", ...argv]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });
});

describe("signalbox policy fmt", () => {
  const UNTIDY = gatePolicy(
    "untidy",
    'pass["tier_approved"]   if   input.workspace.tier=="standard"',
  );
  const TIDY = gatePolicy("untidy");

  test("formats in place, prints the changed files, and changes nothing the second time", async () => {
    const { path, run } = workplace({
      "policies/tidy.rego": gatePolicy("tidy"),
      "policies/untidy.rego": UNTIDY,
      "policies/untidy_test.rego": testsOf("untidy", "test_a if { true }"),
      "policies/lib/names.rego": UNUSED_LIBRARY.replace("if input", "if  input"),
    });
    chmodSync(join(path, "policies/untidy.rego"), 0o640);
    expect(await run(["fmt"])).toEqual({
      code: 0,
      stdout: "policies/lib/names.rego\npolicies/untidy.rego\npolicies/untidy_test.rego\n",
      stderr: "",
    });
    expect(readFileSync(join(path, "policies/untidy.rego"), "utf8")).toBe(TIDY);
    expect(statSync(join(path, "policies/untidy.rego")).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(path, "policies")).filter((name) => name.startsWith("."))).toEqual([]);
    expect(await run(["fmt"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("--check lists the unformatted files, changes nothing and exits with 1", async () => {
    const { path, run } = workplace({
      "policies/tidy.rego": gatePolicy("tidy"),
      "policies/untidy.rego": UNTIDY,
    });
    expect(await run(["fmt", "--check"])).toEqual({
      code: 1,
      stdout: "policies/untidy.rego\n",
      stderr: "",
    });
    expect(readFileSync(join(path, "policies/untidy.rego"), "utf8")).toBe(UNTIDY);
  });

  test("reports a file that is not Rego with its location and leaves it alone; others are formatted", async () => {
    const { path, run } = workplace({
      "policies/bad.rego": "package x\n\nfoo if {\n",
      "policies/untidy.rego": UNTIDY,
    });
    const { code, stdout, stderr } = await run(["fmt"]);
    expect([code, stdout]).toEqual([1, "policies/untidy.rego\n"]);
    expect(stderr).toMatch(/error POLICY_SYNTAX: .*\n +--> policies\/bad\.rego:\d+:\d+/);
    expect(readFileSync(join(path, "policies/bad.rego"), "utf8")).toBe("package x\n\nfoo if {\n");
  });

  test("line endings of the checkout stay, and are no change by themselves", async () => {
    const crlf = (text: string): string => text.replaceAll("\n", "\r\n");
    const { path, run } = workplace({
      "policies/tidy.rego": crlf(gatePolicy("tidy")),
      "policies/untidy.rego": crlf(UNTIDY),
    });
    expect((await run(["fmt"])).stdout).toBe("policies/untidy.rego\n");
    expect(readFileSync(join(path, "policies/untidy.rego"), "utf8")).toBe(crlf(TIDY));
  });

  test("a symbolic link is kept, and its target is formatted", async () => {
    const { path, run } = workplace({
      "policies/..data/real.rego": UNTIDY,
      "policies/tidy.rego": gatePolicy("tidy"),
    });
    symlinkSync(join(path, "policies/..data/real.rego"), join(path, "policies/untidy.rego"));
    expect((await run(["fmt"])).code).toBe(0);
    expect(lstatSync(join(path, "policies/untidy.rego")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(path, "policies/..data/real.rego"), "utf8")).toBe(TIDY);
  });

  test("refuses arguments beside flags", async () => {
    const { code, stderr } = await workplace().run(["fmt", "x.rego"]);
    expect(code).toBe(2);
    expect(stderr).toContain("name the folder with --dir");
  });
});
