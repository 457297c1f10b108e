// What both steps share: where the reports are, which pull request it is, and what the comment begins with.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What the markdown report begins with. */
export const MARKER = "<!-- signalbox-simulation -->";

/** What a comment begins with, and by which it is found again: one comment for each configuration and environment. */
export function commentMarker(config = "", environment = "") {
  if (["", "routes.yaml"].includes(config.trim()) && environment.trim() === "") return MARKER;
  // A name could end the comment in which it stands.
  const names = JSON.stringify([config.trim() || "routes.yaml", environment.trim()]);
  return `<!-- signalbox-simulation ${createHash("sha256").update(names).digest("hex").slice(0, 12)} -->`;
}

/** GitHub takes no longer comment, in characters. */
export const LONGEST_COMMENT = 65_536;

/** Outside of the workspace: nothing that is committed there can pass for a report or for a compiled policy. */
export function reportsFolder(environment) {
  const temporary = environment.RUNNER_TEMP;
  if (!temporary)
    throw new Error("RUNNER_TEMP is not set; this script runs in a step of GitHub Actions");
  return join(temporary, "signalbox-simulation");
}

/** The pull request that the run is for; `null` where it is for none. */
export function pullRequest(environment) {
  const path = environment.GITHUB_EVENT_PATH;
  if (!path) return null;
  const found = JSON.parse(readFileSync(path, "utf8")).pull_request;
  if (!found) return null;
  // A fork that was deleted since has no repository any more.
  const isFork = found.head?.repo?.full_name !== environment.GITHUB_REPOSITORY;
  return {
    number: Number(found.number),
    base: String(found.base?.sha),
    head: String(found.head?.sha),
    isFork,
  };
}

/** The commits of a merge queue's run; `null` where it is for none. */
export function mergeGroup(environment) {
  const path = environment.GITHUB_EVENT_PATH;
  if (!path) return null;
  const found = JSON.parse(readFileSync(path, "utf8")).merge_group;
  return found ? { base: String(found.base_sha), head: String(found.head_sha) } : null;
}

/** Lines of a comment: mails show what is folded too. The rest is in the artefact. */
const MOST_LINES = 60;

/**
 * The beginning of a report in Markdown, cut between two blocks: no fence, table or fold stays
 * open. The first screen, which ends where the details are folded, is never cut.
 */
export function shortened(markdown) {
  const lines = markdown.split("\n");
  if (lines.length <= MOST_LINES) return markdown;
  const most = Math.max(MOST_LINES, lines.indexOf("<details>"));
  let [fence, folds, end] = [null, 0, 0];
  for (const [index, line] of lines.slice(0, most).entries()) {
    const [, run = null] = /^\s*(`{3,})/.exec(line) ?? [];
    if (run !== null) fence = fence === null ? run : line.trim() === fence ? null : fence;
    if (fence !== null) continue;
    folds += (line.match(/<details/g)?.length ?? 0) - (line.match(/<\/details>/g)?.length ?? 0);
    if (folds === 0 && line === "") end = index;
  }
  return `${lines.slice(0, end).join("\n")}\n\n… ${lines.length - end} more lines are in the reports of the run.`;
}

/** `routes.yaml:60:3` outside of blocks of code becomes a link to that line of the commit. */
export function withLinks(markdown, environment, commit) {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = environment;
  if (!server || !repository || commit === null) return markdown;
  let inBlock = false;
  return markdown
    .split("\n")
    .map((line) => {
      if (/^\s*`{3,}/.test(line)) inBlock = !inBlock;
      if (inBlock) return line;
      return line.replaceAll(
        /(?<!\[)`((?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.(?:ya?ml|rego)):(\d+)(?::\d+)?`(?! in base)/g,
        (code, path, number) =>
          `[${code}](${server}/${repository}/blob/${commit}/${path}#L${number})`,
      );
    })
    .join("\n");
}

/** Where the run's log and artefacts are; `null` outside of GitHub. */
export function runAddress({
  GITHUB_SERVER_URL: server,
  GITHUB_REPOSITORY: repository,
  GITHUB_RUN_ID: run,
}) {
  return server && repository && run ? `${server}/${repository}/actions/runs/${run}` : null;
}

/** A workflow command that annotates the run. @param level error, warning or notice */
export function annotate(level, message) {
  const text = message.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  process.stdout.write(`::${level} title=Signalbox::${text}\n`);
}

/** A block that no line of the text can end. */
export function fenced(text) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}
