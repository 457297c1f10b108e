import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CONSTRAINT_EFFECTS } from "../../src/canon/policy.ts";
import { usingToolchain } from "../../src/cli/policy/policy-folder.ts";
import { policyTexts } from "../../src/cli/policy/new.ts";
import { CommandError } from "../../src/cli/terminal/command-io.ts";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { ToolchainError } from "../../src/policy/toolchain/protocol.ts";
import { workplace } from "./policy-folder.ts";

describe("signalbox policy new", () => {
  test("each effect begins with a policy that is correct, formatted, and tested without a gap", async () => {
    const { path, run } = workplace();
    for (const effect of CONSTRAINT_EFFECTS) {
      const { code, stderr } = await run([
        "new",
        `new-${effect.replace("_", "-")}`,
        "--effect",
        effect,
      ]);
      expect([code, stderr]).toEqual([0, ""]);
    }
    expect(readdirSync(join(path, "policies")).toSorted()).toEqual([
      "new-filter.rego",
      "new-filter_test.rego",
      "new-gate.rego",
      "new-gate_test.rego",
      "new-require-all.rego",
      "new-require-all_test.rego",
    ]);
    expect(await run(["check", "--strict"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("3 policies"),
    });
    expect(await run(["fmt", "--check"])).toMatchObject({ code: 0, stdout: "" });
    const tested = await run(["test", "--strict", "--threshold", "100"]);
    expect(tested.code, tested.stdout).toBe(0);
    expect(tested.stdout).toContain("9 passed");
  });

  test("prints the files that it wrote and the next command", async () => {
    const { run } = workplace();
    expect(
      await run([
        "new",
        "eu-only",
        "--owner",
        "group:privacy, user:ada@example.org",
        "--dir",
        "own rules",
      ]),
    ).toEqual({
      code: 0,
      stderr: "",
      stdout: [
        "own rules/eu-only.rego",
        "own rules/eu-only_test.rego",
        "",
        "The owner is group:privacy, user:ada@example.org. Change the rule and its tests, then run:",
        "  signalbox policy test --coverage --dir 'own rules'",
        "",
      ].join("\n"),
    });
  });

  test("the given values are in the contract", async () => {
    const { path, run } = workplace();
    await run([
      "new",
      "eu-only",
      "--owner",
      "group:privacy,group:legal",
      "--title",
      "Stay: here #1",
    ]);
    const file = {
      path: "policies/eu-only.rego",
      text: readFileSync(join(path, "policies/eu-only.rego"), "utf8"),
    };
    const { policies, diagnostics } = await compilePolicies([file], { cache: null });
    expect(diagnostics).toEqual([]);
    expect(policies.map(({ contract }) => contract)).toMatchObject([
      { id: "eu-only", title: "Stay: here #1", owners: ["group:privacy", "group:legal"] },
    ]);
  });

  test.for(["eu-only.rego", "eu-only_test.rego"])(
    "an existing %s is kept, and nothing is written",
    async (name) => {
      const { path, write, run } = workplace();
      write(`policies/${name}`, "mine");
      const { code, stdout, stderr } = await run(["new", "eu-only"]);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toBe(
        `signalbox policy new: policies/${name}: exists already and is left as it is; choose another name or folder\n`,
      );
      expect(readdirSync(join(path, "policies"))).toEqual([name]);
      expect(readFileSync(join(path, "policies", name), "utf8")).toBe("mine");
    },
  );

  test("a folder that cannot be created is named", async () => {
    const { write, run } = workplace();
    write("policies", "a file");
    const { code, stderr } = await run(["new", "eu-only"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      "signalbox policy new: policies: the folder cannot be created; check what is at this path, and the permissions\n",
    );
  });

  test.for([
    [[], "ID: is missing"],
    [["one", "two"], "ID: give exactly one"],
    [["EU"], "ID: must be kebab-case"],
    [["eu_residency"], "ID: must be kebab-case"],
    [["../eu"], "ID: must be kebab-case"],
    [["lib/eu"], "ID: must be kebab-case"],
    [["eu-test"], "not ending in -test"],
    [["eu_test"], "ID: must be kebab-case"],
    [["x".repeat(65)], "at most 64 characters"],
    [["eu", "--effect", "deny"], "--effect: must be one of gate, require_all, filter"],
    [["eu", "--owner", "privacy"], "--owner: must be an owner such as group:privacy"],
    [["eu", "--owner", ","], "--owner: must be an owner such as group:privacy"],
    [["eu", "--title", "two\nlines"], "--title: must be one line"],
    [["eu", "--title", " "], "--title: must be one line"],
    [["eu", "--title", "x".repeat(201)], "1 to 200"],
    [["eu", "--dir", ""], "--dir: is empty"],
    [["eu", "--colour"], "--colour: there is no such flag"],
  ] as const)("%j exits with 2, and nothing is written", async ([argv, message]) => {
    const { path, run } = workplace();
    const { code, stdout, stderr } = await run(["new", ...argv]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Run "signalbox policy new --help"');
    expect(existsSync(join(path, "policies"))).toBe(false);
  });

  test("policies with any title of one line and any id compile with that title", async () => {
    const title = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
      .map((text) => text.trim())
      .filter((text) => text !== "" && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text));
    const hard = [
      "no",
      "1e3",
      "~",
      "2020-01-01",
      "# x",
      "a: b",
      "- a",
      "[x",
      "{x",
      '"',
      "'",
      "|",
      "&a",
      "*a",
      "%",
      "@",
      "0x1f",
    ];
    const titles = [...hard, ...fc.sample(title, { numRuns: 40, seed: 7 })];
    // Keywords, names that YAML takes for a boolean, built-ins, and names that the example's own
    // rules and tests use.
    const ids = [
      "default",
      "no",
      "y",
      "on",
      "in",
      "if",
      "null",
      "package",
      "count",
      "data",
      "input",
      "policy",
      "candidates",
      "candidate",
    ];
    const subjects = titles.map((text, index) => ({
      id: ids[index] ?? `policy-${index}`,
      title: text,
      owners: ["group:tests"],
      effect: CONSTRAINT_EFFECTS[index % 3] ?? "gate",
    }));
    const sources = subjects.flatMap((subject) => {
      const texts = policyTexts(subject);
      return [
        { path: `policies/${subject.id}.rego`, text: texts.policy },
        { path: `policies/${subject.id}_test.rego`, text: texts.test },
      ];
    });
    const { policies, diagnostics } = await compilePolicies(sources, { cache: null });
    expect(diagnostics).toEqual([]);
    const found = new Map(policies.map(({ contract }) => [contract.id, contract.title]));
    expect(found).toEqual(new Map(subjects.map((subject) => [subject.id, subject.title])));
  });
});

describe("signalbox policy", () => {
  test.for([[[]], [["build"]], [["constructor"]]] as const)(
    "%j exits with 2 and lists the commands",
    async ([argv]) => {
      const { code, stderr } = await workplace().run(argv);
      expect(code).toBe(2);
      expect(stderr).toContain("command: give one of new, check, test, fmt");
    },
  );

  test.for([
    [["--help"], "Commands for a running server"],
    [["new", "--help"], "--effect EFFECT"],
    [["check", "--help"], "--strict"],
    [["test", "-h"], "--threshold PERCENT"],
    [["fmt", "--help"], "--check"],
  ] as const)("%j prints the help", async ([argv, part]) => {
    const { code, stdout, stderr } = await workplace().run(argv);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(part);
  });

  test("a toolchain that cannot run is reported with the toolchain's own message", async () => {
    const damaged = new ToolchainError(
      "ARTEFACT_MISSING",
      "rego.wasm.br cannot be read; reinstall",
    );
    const reported = usingToolchain(() => Promise.reject(damaged));
    await expect(reported).rejects.toThrow(
      new CommandError("the policy toolchain: rego.wasm.br cannot be read; reinstall"),
    );
    const bug = new TypeError("a bug");
    await expect(usingToolchain(() => Promise.reject(bug))).rejects.toBe(bug);
  });

  test.for(["check", "test", "fmt"])("%s names the missing folder", async (command) => {
    const { path, run, write } = workplace();
    expect((await run([command])).stderr).toContain("--dir: there is no folder policies;");
    mkdirSync(join(path, "policies"));
    write("policies/x.rego", new Uint8Array([0xff, 0xfe]));
    const { code, stderr } = await run([command]);
    expect([code, stderr]).toEqual([
      1,
      `signalbox policy ${command}: policies/x.rego: the file cannot be read, or is not UTF-8 text; check the path and its permissions\n`,
    ]);
  });
});
