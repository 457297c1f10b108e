// Keeps one comment on the pull request: writes over the one that stands there, or makes it. Says so and goes on where
// the token may not write, as in a run for a fork.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  annotate,
  commentMarker,
  LONGEST_COMMENT,
  pullRequest,
  reportsFolder,
  runAddress,
} from "./reports.mjs";

const environment = process.env;
const marker = commentMarker(environment.INPUT_CONFIG, environment.INPUT_ENVIRONMENT);

const PAGE = 100;
const TIMEOUT = 30_000;
const TRIES = 3;
/** Milliseconds before the second try. */
const PAUSE = 500;

/** GitHub answered, but not with what was requested. */
class ApiError extends Error {
  constructor(status, method) {
    super(`GitHub answered ${status} to ${method}`);
    this.status = status;
  }
}

/** @param path below the API's address */
async function ask(method, path, body) {
  // A comment that was made and not confirmed would be made twice; everything else may be said again.
  const tries = method === "POST" ? 1 : TRIES;
  for (let attempt = 1; ; attempt += 1) {
    let response = null;
    try {
      response = await fetch(`${environment.GITHUB_API_URL || "https://api.github.com"}${path}`, {
        method,
        signal: AbortSignal.timeout(TIMEOUT),
        // A redirect would carry the token elsewhere.
        redirect: "error",
        headers: {
          accept: "application/vnd.github+json",
          authorization: `Bearer ${environment.GITHUB_TOKEN}`,
          "user-agent": "signalbox-simulate",
          "x-github-api-version": "2022-11-28",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (response.ok) return await response.json();
    } catch {
      response = null;
    }
    if (attempt === tries || (response !== null && response.status < 500)) {
      throw new ApiError(response?.status ?? "nothing", method);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE * attempt);
    });
  }
}

/** The login that this token writes under. An app's token, such as the one of a workflow, may not ask who it is. */
async function ownLogin() {
  if (environment.INPUT_COMMENT_AUTHOR) return environment.INPUT_COMMENT_AUTHOR;
  try {
    return (await ask("GET", "/user")).login;
  } catch (error) {
    if (error instanceof ApiError && [401, 403, 404].includes(error.status))
      return "github-actions[bot]";
    throw error;
  }
}

/** Anybody can write the marker; only what this token's own user wrote is ours. Logins differ in case only by mistake. */
function isOwn(comment, login) {
  if (typeof comment.body !== "string" || !comment.body.startsWith(marker)) return false;
  const isBot = login.toLowerCase().endsWith("[bot]");
  return (
    comment.user?.login?.toLowerCase() === login.toLowerCase() &&
    (comment.user.type === "Bot") === isBot
  );
}

async function findOwn(issue, login) {
  for (let page = 1; ; page += 1) {
    const comments = await ask("GET", `${issue}/comments?per_page=${PAGE}&page=${page}`);
    const found = comments.find((comment) => isOwn(comment, login));
    if (found !== undefined) return found;
    if (comments.length < PAGE) return null;
  }
}

function fits(text) {
  return text.length <= LONGEST_COMMENT;
}

/** What GitHub takes. A cut ends at a line, and says so; what the cut left open is closed, or it would swallow the note. */
function shortened(body, address, artefact) {
  if (fits(body)) return body;
  const where =
    artefact !== null
      ? `[the reports](${artefact})`
      : address === null
        ? "the artefact of the run"
        : `[the run](${address})`;
  const note = `\n**Cut: the report is longer than a comment may be. All of it is in ${where}.**\n`;
  // Room for what is closed.
  const room = body.slice(0, LONGEST_COMMENT - note.length - 200);
  const kept = room.slice(0, room.lastIndexOf("\n") + 1);
  const fence = openFence(kept);
  const open = kept.split("\n<details>").length - kept.split("\n</details>").length;
  return `${kept}${fence === null ? "" : `${fence}\n`}${"\n</details>\n".repeat(Math.max(0, Math.min(open, 10)))}${note}`;
}

/** The fence of a block of code that does not end; `null` where all do. */
function openFence(text) {
  let open = null;
  for (const [, fence, rest] of text.matchAll(/^(`{3,})(.*)$/gm)) {
    if (open === null) open = fence;
    else if (fence.length >= open.length && rest.trim() === "") open = null;
  }
  return open;
}

/** Where the step before ended before it could say anything, an old comment must not stand for the new commit. */
function reportText() {
  const path = join(reportsFolder(environment), "comment.md");
  if (existsSync(path)) return readFileSync(path, "utf8");
  return `${marker}\n## Signalbox simulation: error\n\nSignalbox did not run, so nothing is known of what this change does; the log of the run says why.\n`;
}

/** Where the reports can be downloaded; `null` where they were not uploaded. */
function artefactAddress() {
  const address = environment.INPUT_ARTIFACT_URL ?? "";
  return /^https:\/\/[^\s()<>]+$/.test(address) ? address : null;
}

async function keepComment(request) {
  const issue = `/repos/${environment.GITHUB_REPOSITORY}/issues/${request.number}`;
  const artefact = artefactAddress();
  const link =
    artefact === null ? "" : `\n[All reports of this run](${artefact}): HTML, JSON, SARIF.\n`;
  const body = shortened(`${reportText()}${link}`, runAddress(environment), artefact);
  try {
    const own = await findOwn(issue, await ownLogin());
    if (own === null) await ask("POST", `${issue}/comments`, { body });
    else
      await ask("PATCH", `/repos/${environment.GITHUB_REPOSITORY}/issues/comments/${own.id}`, {
        body,
      });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const refused = error.status === 403 || error.status === 404;
    if (refused && request.isFork) {
      annotate(
        "notice",
        "No comment: the token of a run for a fork may not write. The summary and the artefacts say the same.",
      );
    } else if (refused) {
      annotate(
        "warning",
        `No comment: ${error.message}. The job needs \`pull-requests: write\`; runs for Dependabot never have it.`,
      );
    } else {
      annotate("error", `The comment on the pull request may be out of date: ${error.message}`);
      process.exitCode = 1;
    }
  }
}

const request = pullRequest(environment);
if (request === null)
  process.stdout.write("This run is for no pull request: there is nothing to comment on.\n");
else await keepComment(request);
