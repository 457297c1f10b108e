import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { releaseNotes, releaseProblems } from "../../tools/release/notes.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const CHANGELOG =
  "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.3.0 – 2026-12-01\n\n- one\n- two\n\n## 0.2.0 – 2026-11-24\n\n- old\n";
const FILES = {
  manifest: { version: "0.3.0" },
  chart: { version: "0.3.0", appVersion: "0.3.0" },
  changelog: CHANGELOG,
};

describe("a release", () => {
  it("has only the section of its version as notes", () => {
    expect(releaseNotes(CHANGELOG, "0.3.0")).toBe("- one\n- two\n");
    expect(releaseNotes(CHANGELOG, "0.3")).toBeNull();
  });

  it("is refused until tag, package, chart and changelog agree", () => {
    expect(releaseProblems("v0.3.0", FILES)).toEqual([]);
    expect(releaseProblems("0.3.0", FILES)).toEqual(["a tag is v and a version, such as v0.3.0"]);
    expect(releaseProblems("v0.4.0", FILES)).toEqual([
      "package.json: version is 0.3.0; write 0.4.0",
      "deploy/helm/signalbox/Chart.yaml: version is 0.3.0; write 0.4.0",
      "deploy/helm/signalbox/Chart.yaml: appVersion is 0.3.0; write 0.4.0",
      'CHANGELOG.md: there is no section "## 0.4.0 – DATE"; rename "## Unreleased"',
    ]);
  });

  it("of the last version would be accepted: its files agree", () => {
    const { version }: { version: string } = JSON.parse(read("package.json"));
    const chart: unknown = parse(read("deploy/helm/signalbox/Chart.yaml"));
    const files = { manifest: { version }, chart, changelog: read("CHANGELOG.md") };
    expect(releaseProblems(`v${version}`, files)).toEqual([]);
  });
});

describe(".github/workflows/release.yml", () => {
  const workflow = read(".github/workflows/release.yml");

  it("pins every action to a commit, and grants each job only the permissions that it uses", () => {
    const used = [...workflow.matchAll(/uses: (\S+)/g)].map(([, action = ""]) => action);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
    const parsed = parse(workflow) as { permissions: object; jobs: Record<string, object> };
    expect(parsed.permissions).toEqual({});
    expect(Object.keys(parsed.jobs)).toEqual(["checks", "package", "image", "publish"]);
    for (const job of Object.values(parsed.jobs)) expect(job).toHaveProperty("permissions");
  });

  it("runs the scripts that run here too", () => {
    for (const command of [".ci/run", "npm run -s tool -- release", "deploy/image/build.sh"])
      expect(workflow).toContain(command);
  });
});
