/**
 * `npm run tool -- release vX.Y.Z [FOLDER]`: what a release publishes, made in a folder (default:
 * .signalbox/release) without publishing anything: the package, its bill of materials, the notes
 * of the changelog, and the chart where Helm is installed. `.github/workflows/release.yml`
 * publishes that folder.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { parseJson } from "../../src/canon/json.ts";
import { releaseNotes, releaseProblems } from "./notes.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const [tag = "", folder = ".signalbox/release"] = process.argv.slice(2);
const output = resolve(ROOT, folder);
const manifest = parseJson(read("package.json"));
const chart: unknown = parse(read("deploy/helm/signalbox/Chart.yaml"));
const changelog = read("CHANGELOG.md");
const problems = releaseProblems(tag, { manifest, chart, changelog });
if (problems.length > 0) {
  process.stderr.write(problems.map((problem) => `release ${tag}: ${problem}\n`).join(""));
  process.exit(1);
}
// Both archives are called signalbox-VERSION.tgz.
for (const name of ["package", "chart"]) mkdirSync(join(output, name), { recursive: true });
writeFileSync(join(output, "notes.md"), releaseNotes(changelog, tag.slice(1)) ?? "");
run("npm", "pack", "--silent", "--pack-destination", join(output, "package"));
copyFileSync(join(ROOT, "sbom.cdx.json"), join(output, "sbom.cdx.json"));
const helm = process.env.HELM ?? "helm";
if (spawnSync(helm, ["version"]).status === 0)
  run(helm, "package", "deploy/helm/signalbox", "--destination", join(output, "chart"));
else process.stderr.write("release: no Helm here; the chart is not packed\n");
process.stdout.write(`${output}\n`);

function run(program: string, ...argv: readonly string[]): void {
  const { status } = spawnSync(program, argv, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
