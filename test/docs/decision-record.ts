import { headingsOf } from "./markdown.ts";

const STATUS =
  /^Status: (accepted), \d{4}-\d\d-\d\d(?:(; superseded(?: in part)? by )\[(\d+)\]\(\d{4}-[a-z0-9-]+\.md\))?$/m;
const PATH = /`((?:\.ci|\.github|bench|deploy|docs|mock|schemas|src|test|tools)\/[\w./-]*\w)/g;
const LINE_LENGTH = 120;

/**
 * What a decision record lacks of the form in `docs/decisions/README.md`. @param exists whether a
 * path from the root exists.
 */
export function faultsOf(
  file: string,
  text: string,
  exists: (path: string) => boolean,
): readonly string[] {
  const parts = headingsOf(text).flatMap(({ level, anchor }) => (level === 2 ? [anchor] : []));
  const lines = text.split("\n");
  const faults = [
    lines[0]?.startsWith(`# ${Number(file.slice(0, 4))}. `) === true
      ? []
      : ["the first line is not `# N. Title`"],
    STATUS.test(lines[2] ?? "") ? [] : ["the third line is not `Status: accepted, YYYY-MM-DD`"],
    /^context decision consequences(?: alternatives)?$/.test(parts.join(" "))
      ? []
      : [`the parts are ${parts.join(", ")}`],
    [...text.matchAll(PATH)].flatMap(([, path = ""]) =>
      exists(path) ? [] : [`${path} does not exist`],
    ),
    lines.flatMap((line, index) =>
      line.length > LINE_LENGTH && !line.startsWith("|")
        ? [`line ${index + 1} has ${line.length} characters`]
        : [],
    ),
  ].flat();
  return faults.map((fault) => `docs/decisions/${file}: ${fault}`);
}

/** The row of a record in the table of `docs/decisions/README.md`. */
export function rowOf(file: string, text: string): string {
  const [, title = ""] = /^# \d+\. (.+)$/m.exec(text) ?? [];
  const [, state = "", relation = "", number = ""] = STATUS.exec(text) ?? [];
  return `| ${Number(file.slice(0, 4))} | [${title}](${file}) | ${state}${relation}${number} |`;
}
