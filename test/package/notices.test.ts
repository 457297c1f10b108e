import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUNDLED } from "../../tools/build/bundled.ts";
import { formatBillOfMaterials } from "../../tools/notices/bill-of-materials.ts";
import { installFigures } from "../../tools/notices/install-figures.ts";
import { readProductionTree } from "../../tools/notices/production-tree.ts";
import { formatNotices } from "../../tools/notices/third-party-notices.ts";
import { ROOT } from "./packed.ts";

/**
 * All permit use, change and distribution, and request no more than their text. A licence that is
 * not here is looked at before it is added.
 */
const ALLOWED = [
  "MIT",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "0BSD",
  "Unlicense",
  "BlueOak-1.0.0",
];

const tree = readProductionTree(ROOT);
const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");

interface Component {
  readonly "bom-ref": string;
}

describe("the packages of an installation", () => {
  it("have allowed licences only", () => {
    expect(tree.packages.filter(({ licence }) => !ALLOWED.includes(licence))).toEqual([]);
  });

  it("have no script that runs at installation", () => {
    const scripted = tree.packages.filter(({ path, hasInstallScript }) => {
      const { scripts = {} }: { scripts?: Record<string, string> } = JSON.parse(
        text(`${path}/package.json`),
      );
      return (
        hasInstallScript ||
        ["preinstall", "install", "postinstall"].some((name) => Object.hasOwn(scripts, name))
      );
    });
    expect(scripted.map(({ name }) => name)).toEqual([]);
  });

  it("are all in the notices and in the bill of materials", () => {
    const notices = formatNotices(ROOT, tree).split("\n");
    const bill = formatBillOfMaterials(ROOT, tree);
    expect(tree.packages.length).toBeGreaterThan(80);
    for (const { name, version, licence } of tree.packages) {
      expect(notices).toContain(`${name} ${version} (${licence})`);
      expect(bill).toContain(`"pkg:npm/${name.replace("@", "%40")}@${version}"`);
    }
  });

  it("include the ones that the build inlines, which package.json has as development packages", () => {
    const {
      dependencies,
      devDependencies,
    }: Record<string, Record<string, string>> = JSON.parse(text("package.json"));
    const names = tree.packages.map(({ name }) => name);
    expect(BUNDLED.filter((name) => !names.includes(name))).toEqual([]);
    // A name in both would be installed and never loaded, so that an update of it would change
    // nothing.
    expect(BUNDLED.filter((name) => dependencies?.[name] !== undefined)).toEqual([]);
    expect(BUNDLED.filter((name) => devDependencies?.[name] !== undefined)).toEqual([
      "h3",
      "jose",
      "openid-client",
      "undici",
      "yaml",
      "@preact/signals",
      "preact",
      "uplot",
    ]);
  });

  it("include the ones linked into the Rego toolchain, and refer to none that is not listed", () => {
    const bill: {
      components: readonly Component[];
      dependencies: readonly { ref: string; dependsOn: readonly string[] }[];
    } = JSON.parse(formatBillOfMaterials(ROOT, tree));
    const { opa, go }: { opa: string; go: string } = JSON.parse(
      text("tools/rego/dist/manifest.json"),
    );
    const listed = bill.components.map((component) => component["bom-ref"]);
    expect(listed).toContain(`pkg:golang/github.com/open-policy-agent/opa@${opa}`);
    expect(listed).toContain(`pkg:golang/std@${go.replace(/^go/, "")}`);
    expect(new Set(listed).size).toBe(listed.length);
    const referred = bill.dependencies.flatMap(({ dependsOn }) => dependsOn);
    expect(referred.filter((ref) => !listed.includes(ref))).toEqual([]);
    expect(listed.filter((ref) => !referred.includes(ref))).toEqual([]);
  });
});

describe("the figures of an installation", () => {
  const figures = installFigures(ROOT, readProductionTree(ROOT, []));
  const stated = /(\d+) direct dependencies, (\d+) packages in all, ([\d.]+) MB/;

  it.each(["docs/deployment.md", "README.md"])(
    "are those that %s states, the size within a tenth",
    (path) => {
      const [found, direct, packages, megabytes] = stated.exec(text(path)) ?? [];
      // README may say less; what it says is true.
      if (path === "README.md" && found === undefined) return;
      expect([Number(direct), Number(packages)]).toEqual([figures.direct, figures.packages]);
      expect(Math.abs(Number(megabytes) / (figures.bytes / 1e6) - 1)).toBeLessThan(0.1);
    },
  );
});
