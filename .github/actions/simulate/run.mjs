// Checks, tests and simulates, and writes everything that is to be read afterwards. Ends with 0 whatever it finds: the
// comment and the uploads come after it, and the last step ends with the exit code that stands in its output.
import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, posix, relative, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import {
  annotate,
  commentMarker,
  fenced,
  MARKER,
  mergeGroup,
  pullRequest,
  reportsFolder,
  runAddress,
  shortened,
  withLinks,
} from "./reports.mjs";

const environment = process.env;
const workspace = environment.GITHUB_WORKSPACE || process.cwd();
const reports = reportsFolder(environment);

/** Bytes of one program's output; a report is a file, so this is for messages. */
const MOST_OUTPUT = 64 * 1024 * 1024;
/** Characters of an error in the comment. */
const MOST_ERROR = 20_000;
/** Failed assertions that the comment names before its report. */
const MOST_NAMED = 20;
/** Commits to fetch at first where the checkout is shallow; doubled until the histories meet. */
const FIRST_DEPTH = 64;

/** Something that the person who set up the workflow can fix. */
class SetupError extends Error {}

function input(name) {
  return (environment[`INPUT_${name}`] ?? "").trim();
}

function flag(name) {
  const value = input(name);
  if (!["", "true", "false"].includes(value)) {
    throw new SetupError(
      `The input ${name.toLowerCase().replaceAll("_", "-")} must be true or false`,
    );
  }
  return value === "true";
}

function git(...argv) {
  return spawnSync("git", argv, { cwd: workspace, encoding: "utf8", maxBuffer: MOST_OUTPUT });
}

/** Folders of compiled policies and of the secret that marks them as ours: of this job, or what the workflow keeps. */
function cacheFolders() {
  const kept = input("CACHE_FOLDER");
  const root = kept === "" ? join(reports, "..") : kept;
  const fromWorkspace = relative(workspace, root);
  // What stands in the checkout may be the pull request's.
  if (!isAbsolute(root) || !(fromWorkspace.startsWith("..") || isAbsolute(fromWorkspace))) {
    throw new SetupError(
      "The input cache-folder must be an absolute path outside of the workspace",
    );
  }
  return { cache: join(root, "signalbox-cache"), caches: join(root, "signalbox-caches") };
}

/** Signalbox on the Node that its checkout brings, where it brings one. */
function signalbox(...argv) {
  const main = environment.SIGNALBOX_MAIN;
  if (!main)
    throw new SetupError("Signalbox is not installed; the log of the step before says why");
  const brought = resolve(dirname(main), "../node_modules/.bin/node");
  const node = existsSync(brought) ? brought : process.execPath;
  const { cache, caches } = cacheFolders();
  // A cache that a workflow restores into the home folder is not trusted.
  const own = { XDG_CACHE_HOME: caches, LOCALAPPDATA: caches };
  const options = {
    cwd: workspace,
    encoding: "utf8",
    maxBuffer: MOST_OUTPUT,
    env: { ...environment, ...own },
  };
  const { status, stdout, stderr, error } = spawnSync(
    node,
    [main, ...argv, "--cache", cache],
    options,
  );
  // Ended by a signal, or never started.
  const failure =
    status === null
      ? `signalbox ${argv[0]} was ended before it was done${error ? ` (${error.code})` : ""}\n`
      : "";
  return { code: status ?? 1, stdout: stdout ?? "", stderr: `${stderr ?? ""}${failure}` };
}

/** Prints text in which GitHub obeys no workflow command: it may repeat what files of the pull request say. */
function show(title, text) {
  if (text === "") return;
  const token = randomUUID();
  process.stdout.write(
    `::group::${title}\n::stop-commands::${token}\n${text.replace(/\n?$/, "\n")}::${token}::\n::endgroup::\n`,
  );
}

/** Makes the commits, and the history between them, be there. */
function fetchHistory(base, head) {
  let said = "";
  const isDone = (...argv) => {
    const { status, stderr } = git(...argv);
    if (status !== 0) said += stderr ?? "";
    return status === 0;
  };
  const fetch = (...argv) => isDone("fetch", "--quiet", "--no-tags", ...argv);
  const isThere = (commit) => git("cat-file", "-e", `${commit}^{commit}`).status === 0;
  const meet = () => git("merge-base", base, head).status === 0;
  const isShallow = () => git("rev-parse", "--is-shallow-repository").stdout.trim() === "true";
  // A checkout that belongs to another user, as in some containers, answers nothing at all.
  isDone("rev-parse", "--git-dir");
  for (const commit of [base, head]) {
    if (!isThere(commit))
      fetch(...(isShallow() ? [`--depth=${FIRST_DEPTH}`] : []), "origin", commit);
  }
  for (let depth = FIRST_DEPTH; !meet() && isShallow() && depth < 100_000; depth *= 2) {
    if (!fetch(`--depth=${depth}`, "origin", base, head)) break;
  }
  if (isThere(base) && isThere(head) && meet()) return;
  show("git", said);
  throw new SetupError(
    "The commits of the pull request cannot be fetched, or have no common ancestor; give actions/checkout `fetch-depth: 0`. What git said stands in the log of the run",
  );
}

/** A name that git would take for an option, or for a branch of the same name, is no commit. */
function checkCommits({ base, head }) {
  if (![base, head].every((commit) => /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(commit)))
    throw new SetupError("The event names no commits");
}

/** What to compare, as flags. References of our own read better in a report than 40 digits. */
function sides() {
  const request = pullRequest(environment);
  const group = mergeGroup(environment);
  if (group !== null) {
    checkCommits(group);
    fetchHistory(group.base, group.head);
    return {
      flags: ["--base", group.base, "--head", group.head],
      said: `Commit ${group.head}. `,
      commits: [group.base, group.head],
      commit: group.head,
    };
  }
  if (request === null) {
    const base = input("BASE");
    if (base === "")
      throw new SetupError(
        "This run is for no pull request: give the input base, such as origin/main",
      );
    return {
      flags: ["--base", base, "--merge-base", "--head", "HEAD"],
      said: "",
      commits: [base, "HEAD"],
      commit: null,
    };
  }
  const { base, head, number } = request;
  checkCommits(request);
  fetchHistory(base, head);
  const names = [`pull-request/${number}/base`, `pull-request/${number}/head`];
  for (const [index, commit] of [base, head].entries())
    git("update-ref", `refs/${names[index]}`, commit);
  return {
    flags: ["--base", names[0], "--merge-base", "--head", names[1]],
    said: `Commit ${head}. `,
    commits: names,
    commit: head,
  };
}

function optional(name, value) {
  return value === "" ? [] : [`${name}=${value}`];
}

/**
 * What a branch is held against, it may change. That is said, since an assertion that is gone fails no more.
 *
 * @returns lines for the comment
 */
function assertionChanges(config, [base, head]) {
  const path = posix.join(policiesFolder(config), "assertions.yaml");
  const from = git("merge-base", base, head).stdout.trim();
  const changed = git("diff", "--quiet", from, head, "--", `:(top,literal)${path}`).status === 1;
  return changed
    ? [`This change is held against assertions that it changes itself: \`${path}\`.`]
    : [];
}

/** The input, else what `policies.dir` of the configuration names, else `policies` beside it. */
function policiesFolder(config) {
  if (input("POLICIES") !== "") return input("POLICIES");
  const path = resolve(workspace, config);
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const [, section = ""] = /^policies:(.*(?:\n(?:[ #].*)?)*)/m.exec(text) ?? [];
  const [, named = "policies"] = /(?:^|[\s{,])dir:\s*["']?([\w./-]+)/.exec(section) ?? [];
  return posix.join(posix.dirname(config), named);
}

/** Whether a folder has tests: a configuration without them is not red for that. */
function hasTests(folder) {
  return readdirSync(folder).some((name) => name.endsWith("_test.rego"));
}

/** @returns lines for the comment, one for each demand besides the simulation that failed, and the code to end with */
function checkAndTest(config) {
  const failures = [];
  const environmentFlag = optional("--environment", input("ENVIRONMENT"));
  const checked = signalbox("check", `--config=${config}`, ...environmentFlag, "--format=github");
  process.stdout.write(checked.stdout);
  show("signalbox check", checked.stderr);
  if (checked.code !== 0)
    failures.push("`signalbox check` failed on the files that were checked out.");
  const folder = policiesFolder(config);
  const path = resolve(workspace, folder);
  if (input("POLICIES") === "" && !(existsSync(path) && hasTests(path))) return failures;
  const tested = signalbox("policy", "test", `--dir=${folder}`);
  show("signalbox policy test", `${tested.stdout}${tested.stderr}`);
  if (tested.code !== 0) {
    failures.push("`signalbox policy test` failed; its output stands in the log of the run.");
    annotate("error", "signalbox policy test failed; its output stands in the log of this step");
  }
  return failures;
}

/** What failed by name, from the report itself: an annotation may be cut, a comment is read. */
function failedAssertions() {
  const path = join(reports, "simulation.json");
  if (!existsSync(path)) return [];
  let report;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
  const { results = [], coverage = [] } = report.assertions ?? {};
  const failed = (one) => one.status === "FAIL";
  return [
    ...results
      .filter(failed)
      .map(({ id, title }) => `Assertion ${inCode(id)} failed${title ? `: ${inCode(title)}` : ""}`),
    ...coverage
      .filter((one) => failed(one) && report.complete)
      .map(({ what }) => `Coverage of ${inCode(what)} is below its gate`),
  ].slice(0, MOST_NAMED);
}

/** Text of the files as code, which markdown takes for nothing else. */
function inCode(text) {
  return `\`${String(text).replaceAll(/[`\p{Cc}\p{Cf}]/gu, "�")}\``;
}

function simulate(config, flags) {
  const files = { json: "json", html: "html", markdown: "md", sarif: "sarif" };
  const outputs = Object.entries(files).map(
    ([format, ending]) => `--format=${format}=${join(reports, `simulation.${ending}`)}`,
  );
  const result = signalbox(
    "simulate",
    ...flags,
    `--config=${config}`,
    ...optional("--environment", input("ENVIRONMENT")),
    "--format=github",
    ...outputs,
    ...optional("--fail-on", input("FAIL_ON")),
    ...optional("--time-limit", input("TIME_LIMIT")),
    ...optional("--evidence", input("EVIDENCE")),
    ...optional("--workers", input("WORKERS")),
    ...(flag("DETAILED_EXITCODE") ? ["--detailed-exitcode"] : []),
    "--quiet",
  );
  process.stdout.write(result.stdout);
  show("signalbox simulate", result.stderr);
  return result;
}

/** Nothing of a terminal's, and not without end. */
function printed(text) {
  const plain = stripVTControlCharacters(text)
    .replace(/[^\P{Cc}\n\t]/gu, "�")
    .trim();
  return plain.length > MOST_ERROR
    ? `${plain.slice(0, MOST_ERROR)}\n… cut; the log of the run has all of it`
    : plain;
}

const VERDICTS = {
  2: "something differs, and the workflow demands that nothing does (`detailed-exitcode`)",
  3: "an assertion, a coverage gate or `fail-on` failed",
  4: "not every class was decided, or a policy newly cannot be evaluated",
};

/** A box of GitHub's markdown. */
function alert(kind, lines) {
  return lines.length === 0 ? [] : [`> [!${kind}]`, ...lines.map((line) => `> - ${line}`), ""];
}

function finish({ code, markdown, failures, notes, said, error, commit = null }) {
  const address = runAddress(environment);
  const verdict = VERDICTS[code] ?? (code === 0 ? null : "an error");
  const failed = [
    ...failures,
    ...(markdown !== null && verdict !== null
      ? [`The run fails with exit code ${code}: ${verdict}.`]
      : []),
    ...(markdown === null ? [] : failedAssertions()),
  ];
  const named = [
    ["configuration", input("CONFIG")],
    ["environment", input("ENVIRONMENT")],
  ].filter(([, name]) => name !== "");
  const json = join(reports, "simulation.json");
  const digest =
    markdown !== null && existsSync(json)
      ? createHash("sha256").update(readFileSync(json)).digest("hex")
      : "";
  const body = [
    commentMarker(input("CONFIG"), input("ENVIRONMENT")),
    ...alert("CAUTION", failed),
    ...alert("WARNING", notes),
    (markdown === null
      ? null
      : withLinks(shortened(markdown.slice(MARKER.length).trim()), environment, commit)) ??
      `## Signalbox simulation: error\n\nNothing was compared, so nothing is known of what this change does.\n\n${fenced(printed(error))}`,
    "",
    ...(named.length === 0
      ? []
      : [`For ${named.map(([what, name]) => `${what} ${inCode(name)}`).join(", ")}.`, ""]),
    `${said}${digest === "" ? "" : `Report, which an approver signs: \`sha256:${digest}\`. `}${address === null ? "" : `All reports are artefacts of [the run](${address}).`}`,
    "",
  ].join("\n");
  writeFileSync(join(reports, "comment.md"), body);
  if (environment.GITHUB_STEP_SUMMARY) appendFileSync(environment.GITHUB_STEP_SUMMARY, body);
  const ends = code === 0 && failures.length > 0 ? 1 : code;
  if (environment.GITHUB_OUTPUT) {
    appendFileSync(
      environment.GITHUB_OUTPUT,
      `exit-code=${ends}\nreports=${reports}\ndigest=${digest}\n`,
    );
  }
}

// What an earlier run left there would be taken for this one's.
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });

let said = "";
let failures = [];
let notes = [];
try {
  const config = input("CONFIG") || "routes.yaml";
  const compared = sides();
  said = compared.said;
  notes = assertionChanges(config, compared.commits);
  for (const note of notes) annotate("warning", note);
  failures = checkAndTest(config);
  const { code, stderr } = simulate(config, compared.flags);
  const path = join(reports, "simulation.md");
  const markdown = code !== 1 && existsSync(path) ? readFileSync(path, "utf8") : null;
  const error = stderr || `signalbox simulate ended with ${code} and gave no report`;
  if (markdown === null) annotate("error", "The simulation has an error: nothing was compared");
  const { commit } = compared;
  finish({ code: markdown === null ? 1 : code, markdown, failures, notes, said, error, commit });
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  annotate("error", error.message);
  finish({ code: 1, markdown: null, failures, notes, said, error: error.message });
}
