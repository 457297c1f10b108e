import { readdirSync, readFileSync } from "node:fs";
import { redactLine } from "../../../src/compile/authored/literal-secrets.ts";
import { CLEAN } from "../../compile/base.ts";
import { FILE_SAMPLES } from "../../compile/files/samples.ts";
import { parseCase } from "../../policy/case-file.ts";

/**
 * Lines that raise each code, taken from the golden cases, which are compiled by their own tests.
 */
export type Examples = Readonly<Record<string, readonly string[]>>;

interface Found {
  readonly code: string;
  readonly heading?: string;
  readonly lines: readonly string[];
  readonly line: number;
  /** Smaller is plainer. */
  readonly weight: number;
}

const MOST_LINES = 6;

/** The line of a finding below the keys that it stands under, and a few of the lines below it. */
function excerpt(lines: readonly string[], line: number): readonly string[] {
  const at = Math.min(Math.max(line - 1, 0), lines.length - 1);
  const indent = (text: string) => text.length - text.trimStart().length;
  const own = lines[at] ?? "";
  const above: string[] = [];
  let level = indent(own);
  for (let index = at - 1; index >= 0 && level > 0; index -= 1) {
    const text = lines[index] ?? "";
    if (text.trim() === "" || text.trimStart().startsWith("#") || indent(text) >= level) continue;
    above.unshift(text);
    level = indent(text);
  }
  const below: string[] = [];
  for (const text of lines.slice(at + 1)) {
    if (
      above.length + 1 + below.length >= MOST_LINES ||
      indent(text) <= indent(own) ||
      text.trim() === ""
    )
      break;
    below.push(text);
  }
  return [...above, own, ...below].map((text) => redactLine(text));
}

function simplest(found: readonly Found[]): Examples {
  const best = new Map<string, Found>();
  for (const one of found) {
    const other = best.get(one.code);
    if (other === undefined || one.weight < other.weight) best.set(one.code, one);
  }
  const rows = [...best].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(
    rows.map(([code, { heading, lines, line }]) => [
      code,
      [...(heading === undefined ? [] : [heading]), ...excerpt(lines, line)],
    ]),
  );
}

function isMasked(text: string, line: number): boolean {
  return excerpt(text.split("\n"), line).some((shown) => shown.includes("***"));
}

/** By the golden cases of routes.yaml. */
export function routeExamples(): Examples {
  const folder = new URL("../../compile/cases/", import.meta.url);
  const found = readdirSync(folder).flatMap((name): readonly Found[] => {
    const [text = "", expected = ""] = readFileSync(new URL(name, folder), "utf8").split(
      "\n----------\n",
    );
    const findings = [...expected.matchAll(/^([A-Z_]+) (?:error|warning) (\d+):\d+ /gm)];
    return findings.map(([, code = "", line = "1"]) => ({
      code,
      line: Number(line),
      lines: text.split("\n"),
      // A line that is masked shows nothing of what is wrong, except where that is the finding.
      weight:
        findings.length * 10_000 +
        text.length +
        (code !== "LITERAL_SECRET" && isMasked(text, Number(line)) ? 1e6 : 0),
    }));
  });
  return simplest(found);
}

/** By the golden cases of policies; the first line names the file. */
export function policyExamples(): Examples {
  const folder = new URL("../../policy/cases/", import.meta.url);
  const found = readdirSync(folder).flatMap((name): readonly Found[] => {
    const { sources, expected } = parseCase(readFileSync(new URL(name, folder), "utf8"));
    const findings = [...expected.matchAll(/^(\S+):(\d+):\d+ (?:error|warning) ([A-Z_]+): /gm)];
    return findings.map(([, path = "", line = "1", code = ""]) => {
      const lines = (sources.find((source) => source.path === path)?.text ?? "").split("\n");
      return {
        code,
        heading: `# ${path}`,
        line: Number(line),
        lines,
        weight: findings.length * 10_000 + lines.length,
      };
    });
  });
  return simplest(found);
}

/** By the samples of several files; what is no part of the mistake is omitted. */
export function fileExamples(): Examples {
  return Object.fromEntries(
    Object.entries(FILE_SAMPLES).map(([code, { files, environment }]) => [
      code,
      [
        ...(environment === undefined ? [] : [`signalbox check --environment ${environment}`]),
        ...Object.entries(files).flatMap(([name, text]) => [
          `# ${name}`,
          ...text
            .replace(CLEAN, "")
            .replace("-> ", "# a link to ")
            .split("\n")
            .filter((line) => line !== ""),
        ]),
      ],
    ]),
  );
}
