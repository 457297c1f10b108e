import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FAIL_ON_VALUES } from "../../../src/cli/simulate/exit-code.ts";
import { DEFAULT_FORMAT, FORMATS } from "../../../src/cli/simulate/formats/formats.ts";
import {
  defaultWorkers,
  readSimulateOptions,
  type SimulateOptions,
} from "../../../src/cli/simulate/options.ts";
import { UsageError } from "../../../src/cli/terminal/command-io.ts";
import { compileCacheAt } from "../../../src/cli/terminal/configuration.ts";

/** What a value of `--fail-on` was meant to be. */
const NEAR: ReadonlyMap<string, string> = new Map([
  ["Any", "; did you mean any?"],
  ["newly-denied", "; did you mean newly_denied?"],
]);
const CWD = "/home/somebody/checkout";
const read = (...argv: readonly string[]): SimulateOptions => readSimulateOptions(argv, CWD);

function problemOf(...argv: readonly string[]): string {
  try {
    read(...argv);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return "no problem";
}

const TREE = "must be a git ref, such as origin/main, or a folder that begins with ./, ../ or /";
const FILE = "must be a file, relative to the current folder: it is looked up in a commit too";
const PROMOTE =
  "--promote: must be ID or ID@REV: a policy's id, and 6 to 64 lower-case hexadecimal digits that its digest begins with";

describe("options of simulate", () => {
  test("a command line without options has the defaults", () => {
    const before = Date.now();
    const { now, ...options } = read();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(options).toEqual({
      all: false,
      base: { kind: "ref", name: "origin/main" },
      head: { kind: "directory", name: "." },
      mergeBase: false,
      config: "routes.yaml",
      environment: null,
      assertions: null,
      outputs: [{ format: DEFAULT_FORMAT, file: null }],
      promote: null,
      fresh: false,
      policies: null,
      server: null,
      evidence: null,
      timeLimit: 600_000,
      workers: defaultWorkers(),
      detailedExitcode: false,
      failOn: [],
      quiet: false,
      cache: compileCacheAt(undefined, CWD, {}),
    });
    expect(options.workers).toBeLessThanOrEqual(8);
  });

  test.for<[readonly string[], Partial<SimulateOptions>]>([
    [["--base", "v1.2"], { base: { kind: "ref", name: "v1.2" } }],
    [["--base", "feature/a.b-c"], { base: { kind: "ref", name: "feature/a.b-c" } }],
    [["--base", "HEAD~3"], { base: { kind: "ref", name: "HEAD~3" } }],
    [["--base", "policies"], { base: { kind: "ref", name: "policies" } }],
    [["--base", ".hidden"], { base: { kind: "ref", name: ".hidden" } }],
    [["--base", "...x"], { base: { kind: "ref", name: "...x" } }],
    [["--base", "./before"], { base: { kind: "directory", name: "./before" } }],
    [["--base", "../before"], { base: { kind: "directory", name: "../before" } }],
    [["--base", ".."], { base: { kind: "directory", name: ".." } }],
    [["--base", "/before"], { base: { kind: "directory", name: "/before" } }],
    [["--head", "HEAD"], { head: { kind: "ref", name: "HEAD" } }],
    [["--head=./"], { head: { kind: "directory", name: "./" } }],
    [["--merge-base"], { mergeBase: true }],
    [["--merge-base", "--base", "a", "--head", "b"], { mergeBase: true }],
    [["--config", "infra/routes.yaml"], { config: "infra/routes.yaml" }],
    [["--assertions", "rules/a.yaml"], { assertions: "rules/a.yaml" }],
    [
      ["--format", "json=out/a=b.json"],
      {
        outputs: [
          { format: "terminal", file: null },
          { format: "json", file: "out/a=b.json" },
        ],
      },
    ],
    [
      ["--format", "json=a", "--format", "json"],
      {
        outputs: [
          { format: "json", file: "a" },
          { format: "json", file: null },
        ],
      },
    ],
    [["--fresh"], { fresh: true }],
    [["--promote", "eu-residency"], { promote: [{ id: "eu-residency", digestPrefix: null }] }],
    [
      ["--promote", "a@0123ab", "--promote", `b@${"f".repeat(64)}`],
      {
        promote: [
          { id: "a", digestPrefix: "0123ab" },
          { id: "b", digestPrefix: "f".repeat(64) },
        ],
      },
    ],
    [["--evidence", "kept/evidence.jsonl"], { evidence: join(CWD, "kept/evidence.jsonl") }],
    [["--evidence", "/e"], { evidence: "/e" }],
    [["--time-limit", "90s"], { timeLimit: 90_000 }],
    [["--time-limit", "24h"], { timeLimit: 86_400_000 }],
    [["--workers", "1"], { workers: 1 }],
    [["--workers", "256"], { workers: 256 }],
    [["--detailed-exitcode"], { detailedExitcode: true }],
    [["--fail-on", "any"], { failOn: ["any"] }],
    [
      ["--fail-on", "newly_denied, new_destination", "--fail-on", "any,any"],
      { failOn: ["new_destination", "newly_denied", "any"] },
    ],
    [["--fail-on", FAIL_ON_VALUES.join(",")], { failOn: FAIL_ON_VALUES }],
    [["--quiet"], { quiet: true }],
    [["--cache", "/c"], { cache: compileCacheAt("/c", CWD, {}) }],
    [["--now", "2026-11-21"], { now: Date.UTC(2026, 10, 21) }],
    [["--now", "2028-02-29"], { now: Date.UTC(2028, 1, 29) }],
    [["--now", "2026-11-21T01:00:00+01:00"], { now: Date.UTC(2026, 10, 21) }],
  ])("%j is read", ([argv, expected]) => {
    expect(read(...argv)).toMatchObject(expected);
  });

  test.for<[readonly string[], string]>([
    [
      ["main"],
      "takes no arguments, only flags; name the sides with --base and --head (given: `main`)",
    ],
    [["--from", "main"], "--from: there is no such flag"],
    [["--base"], "--base: needs a value"],
    [["--base="], `--base: ${TREE}`],
    [["--base=-x"], `--base: ${TREE}`],
    [["--base=--upload-pack=touch x"], `--base: ${TREE}`],
    [["--base", "a\nb"], `--base: ${TREE}`],
    [["--base", "a\0b"], `--base: ${TREE}`],
    [["--head="], `--head: ${TREE}`],
    [["--head=--all"], `--head: ${TREE}`],
    [["--merge-base=yes"], "--merge-base: takes no value"],
    [
      ["--merge-base", "--base", "./before"],
      "--merge-base: --base is a folder, which has no history; give a ref, or leave --merge-base out",
    ],
    [["--config="], `--config: ${FILE}`],
    [["--config", "/etc/routes.yaml"], `--config: ${FILE}`],
    [["--config", "infra/"], `--config: ${FILE}`],
    [["--assertions="], `--assertions: ${FILE}`],
    [["--assertions", "/a.yaml"], `--assertions: ${FILE}`],
    [
      ["--format", "xml"],
      `--format: must be one of ${Object.keys(FORMATS).join(", ")}, each also as FORMAT=FILE`,
    ],
    [
      ["--format", "constructor"],
      `--format: must be one of ${Object.keys(FORMATS).join(", ")}, each also as FORMAT=FILE`,
    ],
    [
      ["--format", "xml=a"],
      `--format: must be one of ${Object.keys(FORMATS).join(", ")}, each also as FORMAT=FILE`,
    ],
    [
      ["--format="],
      `--format: must be one of ${Object.keys(FORMATS).join(", ")}, each also as FORMAT=FILE`,
    ],
    [
      ["--format", "json="],
      "--format: json= needs a file; for standard output write --format json",
    ],
    [
      ["--format", "json=-"],
      "--format: json= needs a file; for standard output write --format json",
    ],
    [
      ["--format", "json", "--format", "json"],
      "--format: only one goes to standard output; give the others a file, as FORMAT=FILE",
    ],
    [
      ["--format", "json=a", "--format", "json=./b/../a"],
      "--format: two formats name one file; give each its own",
    ],
    [["--promote="], PROMOTE],
    [["--promote", "A"], PROMOTE],
    [["--promote", "a@"], PROMOTE],
    [["--promote", "a@12345"], PROMOTE],
    [["--promote", "a@12345G"], PROMOTE],
    [["--promote", "a@ABCDEF"], PROMOTE],
    [["--promote", `a@${"0".repeat(65)}`], PROMOTE],
    [["--promote", "a@3"], PROMOTE],
    [["--promote", "a,b"], PROMOTE],
    [["--promote", "*"], PROMOTE],
    [
      ["--promote", "a", "--promote", "a@123456"],
      "--promote: names a policy twice; give each once",
    ],
    [["--evidence="], "--evidence: needs a path"],
    [["--cache="], "--cache: needs a path"],
    ...["", "0s", "-1s", "1.5m", "90", "25h", "many", " 1s", "٣s"].map(
      (value): [readonly string[], string] => [
        [`--time-limit=${value}`],
        "--time-limit: must be a duration from 1s to 24h, such as 90s or 10m",
      ],
    ),
    ...["", "0", "-1", "257", "two"].map((value): [readonly string[], string] => [
      [`--workers=${value}`],
      "--workers: must be a whole number from 1 to 256",
    ]),
    [["--detailed-exitcode=1"], "--detailed-exitcode: takes no value"],
    ...["", ",", "all", "Any", "newly-denied", "constructor", "newly_denied;any"].map(
      (value): [readonly string[], string] => [
        [`--fail-on=${value}`],
        `--fail-on: must be a list, separated by commas, of ${FAIL_ON_VALUES.join(", ")}${NEAR.get(value) ?? ""}`,
      ],
    ),
    [
      ["--fail-on=any", "--fail-on=everything"],
      `--fail-on: must be a list, separated by commas, of ${FAIL_ON_VALUES.join(", ")}`,
    ],
    ...[
      "",
      "today",
      "2026-11",
      "2026-02-30",
      "2027-02-29",
      "2026-13-01",
      "21.11.2026",
      "2026-11-21T25:00:00Z",
      "2026-11-21T00:00:00",
    ].map((value): [readonly string[], string] => [
      [`--now=${value}`],
      "--now: must be an RFC 3339 date or time, such as 2026-11-21",
    ]),
  ])("%j is refused with its reason", ([argv, expected]) => {
    expect(problemOf(...argv)).toBe(expected);
  });

  test("no message repeats a typed value", () => {
    const flags = [
      "base",
      "head",
      "config",
      "assertions",
      "format",
      "promote",
      "time-limit",
      "workers",
      "fail-on",
      "now",
    ];
    fc.assert(
      fc.property(fc.constantFrom(...flags), fc.string({ minLength: 1 }), (flag, rest) => {
        const typed = `Sesame-${rest}`;
        expect(problemOf(`--${flag}=${typed}`)).not.toContain("Sesame");
      }),
    );
  });

  test("no ref becomes an option of git, for any typed text", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        try {
          const { base } = read(`--base=${value}`);
          if (base.kind === "ref") expect(base.name).toMatch(/^[^-\0]/);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
        }
      }),
    );
  });
});
