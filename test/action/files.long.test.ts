import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { FORMATS } from "../../src/cli/simulate/formats/formats.ts";
import { MARKER as MARKDOWN_MARKER } from "../../src/cli/simulate/formats/markdown.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { NO_GIT } from "../cli/simulate/repository.ts";
import { ACTION, makeRunner, MARKER, outputsOf, ROOT, runScript } from "./run-action.ts";

const WORKFLOWS = join(ROOT, ".github/workflows");
const texts = new Map(
  [join(ACTION, "action.yml"), ...readdirSync(WORKFLOWS).map((name) => join(WORKFLOWS, name))].map(
    (path) => [path.slice(ROOT.length + 1), readFileSync(path, "utf8")],
  ),
);

function objectOf(value: JsonValue | undefined): JsonObject {
  if (value === undefined || !isJsonObject(value)) throw new Error("no mapping");
  return value;
}

const read = (path: string): JsonObject => {
  const document: JsonValue = parse(texts.get(path) ?? "");
  return objectOf(document);
};
const action = read(".github/actions/simulate/action.yml");
const workflow = read(".github/workflows/simulate.yml");

/** Every mapping in a document, itself among them. */
function mappingsIn(value: JsonValue): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => mappingsIn(item));
  return isJsonObject(value)
    ? [value, ...Object.values(value).flatMap((item) => mappingsIn(item ?? null))]
    : [];
}

function stepsOf(container: JsonObject): readonly JsonObject[] {
  const steps = container.steps;
  return Array.isArray(steps) ? steps.map((step: JsonValue) => objectOf(step)) : [];
}

const steps = stepsOf(objectOf(action.runs));
const job = objectOf(objectOf(workflow.jobs).simulate);

describe.each([...texts.keys()])("%s", (path) => {
  const mappings = mappingsIn(read(path));

  it("has no expression inside a script, where it would be run", () => {
    const scripts = mappings.flatMap(({ run }) => (typeof run === "string" ? [run] : []));
    expect(scripts.filter((script) => script.includes("${{"))).toEqual([]);
    for (const script of scripts)
      expect(script).not.toMatch(/\beval\b|\$\{?GITHUB_(HEAD_REF|EVENT_PATH)/);
  });

  it("never runs for anonymous callers with a token that writes", () => {
    const withoutComments = (texts.get(path) ?? "").replaceAll(/(^|\s)#.*$/gm, "");
    expect(withoutComments).not.toMatch(/pull_request_target|workflow_run|secrets\./);
  });

  it("pins third-party actions to full commits with their version, or gives a reason for a tag", () => {
    const lines = (texts.get(path) ?? "").split("\n").filter((line) => /^\s*(- )?uses:/.test(line));
    const others = lines.filter((line) => !line.includes("uses: ./"));
    expect(others.length).toBeGreaterThan(0);
    for (const line of others) {
      expect(line).toMatch(
        /uses: [\w./-]+@([0-9a-f]{40} # v\d+\.\d+\.\d+|v\d+ # a tag, since .+)$/,
      );
    }
  });
});

describe("the action", () => {
  it("is composite, and every step that runs names its shell", () => {
    expect(objectOf(action.runs).using).toBe("composite");
    for (const step of steps) {
      expect([typeof step.run, typeof step.uses].filter((type) => type === "string")).toHaveLength(
        1,
      );
      if (step.run !== undefined) expect(step.shell).toBe("bash");
    }
  });

  it("describes every input with a default, and uses each of them", () => {
    const inputs = objectOf(action.inputs);
    const text = texts.get(".github/actions/simulate/action.yml") ?? "";
    expect(Object.keys(inputs)).toEqual(
      expect.arrayContaining([
        "fail-on",
        "detailed-exitcode",
        "time-limit",
        "config",
        "evidence",
        "workers",
        "comment",
        "version",
      ]),
    );
    for (const [name, input] of Object.entries(inputs)) {
      const { description, default: normal } = objectOf(input);
      expect([name, typeof description, typeof normal]).toEqual([name, "string", "string"]);
      expect(text.split(`inputs.${name} `).length, name).toBeGreaterThan(1);
    }
    const used = [...text.matchAll(/\binputs\.([\w-]+)/g)].map(([, name]) => name);
    expect(used.filter((name) => name === undefined || !Object.hasOwn(inputs, name))).toEqual([]);
  });

  it("passes to scripts the variables that they read, and no others", () => {
    for (const name of ["run.mjs", "comment.mjs", "install.sh"]) {
      const step = steps.find(({ run }) => typeof run === "string" && run.includes(name));
      const given = Object.keys(objectOf(step?.env)).filter(
        (variable) => !variable.startsWith("GITHUB_"),
      );
      const script = readFileSync(join(ACTION, name), "utf8");
      for (const variable of given) expect(script, name).toContain(variable.replace(/^INPUT_/, ""));
      const known = [...script.matchAll(/\b(?:input|flag)\("([A-Z_]+)"\)|INPUT_([A-Z_]+)/g)].map(
        ([, called, named]) => `INPUT_${called ?? named}`,
      );
      expect(
        [...new Set(known)].filter((variable) => !given.includes(variable)),
        name,
      ).toEqual([]);
    }
  });

  it("passes the token to the comment step alone", () => {
    const holders = steps.filter((step) => JSON.stringify(step).includes("token"));
    expect(holders.map(({ name }) => name)).toEqual(["Comment"]);
  });

  it("comments, uploads and gives its verdict after failed steps too, the verdict last", () => {
    const after = steps.slice(steps.findIndex(({ id }) => id === "simulate") + 1);
    expect(after.map(({ name }) => name)).toEqual([
      "Upload reports",
      "Comment",
      "Upload SARIF",
      "Verdict",
    ]);
    for (const step of after) expect(step.if).toMatch(/^\$\{\{ !cancelled\(\)( && .*)? \}\}$/);
    expect(
      after.filter((step) => step["continue-on-error"] === true).map(({ name }) => name),
    ).toEqual(["Upload SARIF"]);
    expect(after.at(-1)).toMatchObject({ run: 'exit "${EXIT_CODE:-1}"' });
  });

  it("looks for the marker that the report begins with", () => {
    expect(MARKER).toBe(MARKDOWN_MARKER);
    expect(readFileSync(join(ACTION, "reports.mjs"), "utf8")).toContain(
      `MARKER = "${MARKDOWN_MARKER}"`,
    );
    const script = readFileSync(join(ACTION, "run.mjs"), "utf8");
    for (const format of ["json", "html", "markdown", "sarif", "github"]) {
      expect(Object.keys(FORMATS)).toContain(format);
      expect(script).toContain(format);
    }
  });

  it
    .skipIf(missingPrograms("bash") !== null)
    .each(["latest", "^1.0.0", "1", "1.0.0 --registry=x", "file:../x", "1.0.0\nmain=x", "--help"])(
    "installs no version such as %j (needs bash)",
    async (version) => {
      const runner = makeRunner({ base: "", head: "" });
      const { code, stderr } = await runScript(runner, "install.sh", { INPUT_VERSION: version });
      expect([code, outputsOf(runner)]).toEqual([1, {}]);
      expect(stderr).toContain("one exact version");
    },
  );
});

describe("the workflow", () => {
  it("runs for pull requests and merge queues, with the fewest permissions, one run at a time", () => {
    expect(Object.keys(objectOf(workflow.on))).toEqual(["pull_request", "merge_group"]);
    expect(workflow.permissions).toEqual({});
    expect(job.permissions).toEqual({
      contents: "read",
      "pull-requests": "write",
      "security-events": "write",
    });
    expect(objectOf(workflow.concurrency)).toMatchObject({ "cancel-in-progress": true });
    expect(job["timeout-minutes"]).toBeGreaterThan(0);
  });

  it("checks out the branch with its history and leaves no token behind, then uses our own action", () => {
    const [checkout, own, ...more] = stepsOf(job);
    expect(more).toEqual([]);
    expect(checkout?.with).toMatchObject({ "fetch-depth": 0, "persist-credentials": false });
    expect(own?.uses).toBe("./.github/actions/simulate");
    const given = Object.keys(objectOf(own?.with));
    expect(given.filter((name) => !Object.hasOwn(objectOf(action.inputs), name))).toEqual([]);
  });
});

it.skipIf(NO_GIT !== null)(
  "the action's folder holds exactly the files that the action runs",
  () => {
    expect(readdirSync(ACTION).toSorted()).toEqual([
      "action.yml",
      "comment.mjs",
      "install.sh",
      "reports.mjs",
      "run.mjs",
    ]);
  },
);
