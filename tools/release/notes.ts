/** What the tag of a release is compared with. */
interface ReleaseFiles {
  /** package.json */
  readonly manifest: unknown;
  /** Chart.yaml */
  readonly chart: unknown;
  readonly changelog: string;
}

/** @returns one sentence for each thing that must be put right before the tag is released */
export function releaseProblems(tag: string, files: ReleaseFiles): readonly string[] {
  const version = /^v(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(tag)?.[1];
  if (version === undefined) return ["a tag is v and a version, such as v0.3.0"];
  const { manifest, chart, changelog } = files;
  const wrong = (file: string, name: string, found: unknown): readonly string[] =>
    found === version ? [] : [`${file}: ${name} is ${String(found)}; write ${version}`];
  return [
    ...wrong("package.json", "version", member(manifest, "version")),
    ...wrong("deploy/helm/signalbox/Chart.yaml", "version", member(chart, "version")),
    ...wrong("deploy/helm/signalbox/Chart.yaml", "appVersion", member(chart, "appVersion")),
    ...(releaseNotes(changelog, version) === null
      ? [`CHANGELOG.md: there is no section "## ${version} – DATE"; rename "## Unreleased"`]
      : []),
  ];
}

/** The section of a version in CHANGELOG.md, without its heading; `null` where there is none. */
export function releaseNotes(changelog: string, version: string): string | null {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => section.startsWith(`${version} `));
  return found === undefined ? null : `${found.slice(found.indexOf("\n")).trim()}\n`;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
