import { describe, expect, it } from "vitest";
import { createHash } from "node:crypto";
import {
  ACTIONS,
  fakeGithub,
  makeRunner,
  MARKER,
  NUMBER,
  REPOSITORY,
  runScript,
  setEvent,
  writeComment,
  type Comment,
  type GithubRules,
} from "./run-action.ts";

const COMMITS = { base: "1".repeat(40), head: "2".repeat(40) };
const NEW = `${MARKER}\n## Signalbox simulation: more permissive\n`;
const LIST = `/repos/${REPOSITORY}/issues/${NUMBER}/comments`;

/** As reports.mjs makes it. */
function commentMarker(config: string, environment: string): string {
  const names = JSON.stringify([config, environment]);
  return `<!-- signalbox-simulation ${createHash("sha256").update(names).digest("hex").slice(0, 12)} -->`;
}

function comment(id: number, body: string, user: Comment["user"] = ACTIONS): Comment {
  return { id, body, user };
}

/** What stands on the pull request after the step. */
async function kept(
  rules: GithubRules,
  {
    body = NEW,
    fork = REPOSITORY,
    more = {},
  }: { body?: string | null; fork?: string | null; more?: Record<string, string> } = {},
) {
  const github = await fakeGithub(rules);
  const runner = makeRunner(COMMITS, { fork });
  if (body !== null) writeComment(runner, body);
  const ended = await runScript(runner, "comment.mjs", { ...github.environment, ...more });
  return { ...ended, github, bodies: github.comments.map((one) => one.body) };
}

describe("the comment on the pull request", () => {
  it("is created where there is none", async () => {
    const { code, stdout, stderr, github, bodies } = await kept({
      comments: [comment(1, "nice work", { login: "ana", type: "User" })],
    });
    expect([code, stdout, stderr]).toEqual([0, "", ""]);
    expect(bodies).toEqual(["nice work", NEW]);
    expect([...github.authorizations]).toEqual(["Bearer token-of-the-run"]);
  });

  it("links to the uploaded reports, and to no other kind of address", async () => {
    const address = "https://github.example/acme/gateway/actions/runs/99/artifacts/7";
    const linked = await kept({ comments: [] }, { more: { INPUT_ARTIFACT_URL: address } });
    expect(linked.bodies).toEqual([
      `${NEW}\n[All reports of this run](${address}): HTML, JSON, SARIF.\n`,
    ]);
    const other = await kept(
      { comments: [] },
      { more: { INPUT_ARTIFACT_URL: "javascript:alert(1)" } },
    );
    expect(other.bodies).toEqual([NEW]);
    const long = await kept(
      { comments: [] },
      { body: `${NEW}${"x\n".repeat(40_000)}`, more: { INPUT_ARTIFACT_URL: address } },
    );
    expect(long.bodies[0]?.length).toBeLessThanOrEqual(65_536);
    expect(long.bodies[0]).toContain(`All of it is in [the reports](${address}).`);
  });

  it("an existing comment is overwritten in place, the oldest one where there are several", async () => {
    const { code, bodies, github } = await kept({
      comments: [
        comment(1, "first"),
        comment(2, `${MARKER}\nold`),
        comment(3, `${MARKER}\nolder run`),
      ],
    });
    expect([code, bodies]).toEqual([0, ["first", NEW, `${MARKER}\nolder run`]]);
    expect(github.requests.at(-1)).toBe(`PATCH /repos/${REPOSITORY}/issues/comments/2`);
  });

  it("each configuration and environment has a separate comment", async () => {
    const comments = [comment(1, `${MARKER}\nroutes.yaml`)];
    const more = { INPUT_CONFIG: "infra/routes.yaml", INPUT_ENVIRONMENT: "production" };
    const body = `${commentMarker(more.INPUT_CONFIG, more.INPUT_ENVIRONMENT)}\nproduction\n`;
    const first = await kept({ comments }, { body, more });
    expect(first.bodies).toEqual([`${MARKER}\nroutes.yaml`, body]);
    const again = await kept(
      { comments: [...comments, comment(2, body)] },
      { body: `${body}more\n`, more },
    );
    expect(again.bodies).toEqual([`${MARKER}\nroutes.yaml`, `${body}more\n`]);
    const other = await kept({ comments: [...comments, comment(2, body)] });
    expect(other.bodies).toEqual([NEW, body]);
  });

  it.each([
    ["a person with the marker", comment(1, `${MARKER}\nmine`, { login: "mallory", type: "User" })],
    [
      "another app with the marker",
      comment(1, `${MARKER}\nmine`, { login: "other-app[bot]", type: "Bot" }),
    ],
    [
      "a person of the bot's name",
      comment(1, `${MARKER}\nmine`, { login: "github-actions[bot]", type: "User" }),
    ],
    ["an unknown user", comment(1, `${MARKER}\nmine`, null)],
    ["the bot, quoting the marker", comment(1, `> ${MARKER}\nquoted`)],
    ["the bot, with another marker", comment(1, "<!-- signalbox-simulation-of-another -->")],
  ])("a comment of %s is left alone, and a new one is created", async (_who, other) => {
    const { code, bodies } = await kept({ comments: [{ ...other }] });
    expect([code, bodies]).toEqual([0, [other.body, NEW]]);
  });

  it("a token of another account updates that account's comment, and not the bot's", async () => {
    const login = "release-team";
    const mine = comment(2, `${MARKER}\nold`, { login, type: "User" });
    const { bodies } = await kept({ login, comments: [comment(1, `${MARKER}\nbot`), mine] });
    expect(bodies).toEqual([`${MARKER}\nbot`, NEW]);
  });

  it("comment-author selects the comment of the named app", async () => {
    const mine = comment(2, `${MARKER}\nold`, { login: "acme-ci[bot]", type: "Bot" });
    const { bodies, github } = await kept(
      { comments: [comment(1, `${MARKER}\nbot`), mine] },
      { more: { INPUT_COMMENT_AUTHOR: "acme-ci[bot]" } },
    );
    expect(bodies).toEqual([`${MARKER}\nbot`, NEW]);
    expect(github.requests).not.toContain("GET /user");
  });

  it.each([99, 100, 101, 250])("is found after %i others", async (count) => {
    const others = Array.from({ length: count }, (_, index) =>
      comment(index + 1, "talk", { login: "ana", type: "User" }),
    );
    const { bodies, github } = await kept({
      comments: [...others, comment(5_000, `${MARKER}\nold`)],
    });
    expect([bodies.length, bodies.at(-1)]).toEqual([count + 1, NEW]);
    expect(github.requests.filter((one) => one.startsWith(`GET ${LIST}`)).length).toBe(
      Math.floor(count / 100) + 1,
    );
  });

  it.each([
    ["for a fork", "mallory/routes"],
    ["for a fork that is gone", null],
  ])("is omitted with a notice where the token may not write, %s", async (_name, fork) => {
    const { code, stdout, bodies } = await kept(
      { refusals: { [`POST ${LIST}`]: { always: 403 } } },
      { fork },
    );
    expect([code, bodies]).toEqual([0, []]);
    expect(stdout).toMatch(/^::notice title=Signalbox::No comment: .*fork/);
  });

  it("is omitted with a warning that names the permission where the workflow forgot it", async () => {
    const { code, stdout } = await kept({ refusals: { [`GET ${LIST}`]: { always: 403 } } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^::warning .*403 to GET.*`pull-requests: write`/);
  });

  it("is written after a moment where GitHub stumbles", async () => {
    const { code, bodies } = await kept({
      comments: [comment(1, `${MARKER}\nold`)],
      refusals: {
        [`GET ${LIST}`]: [502],
        [`PATCH /repos/${REPOSITORY}/issues/comments/1`]: [500, 503],
      },
    });
    expect([code, bodies]).toEqual([0, [NEW]]);
  });

  it("is posted once, and the step fails, where GitHub does not confirm it", async () => {
    const { code, stdout, github } = await kept({
      refusals: { [`POST ${LIST}`]: { always: 502 } },
    });
    expect([code, github.requests.filter((one) => one.startsWith("POST")).length]).toEqual([1, 1]);
    expect(stdout).toMatch(/^::error .*may be out of date: GitHub answered 502/);
  });

  it("replaces the comment of an earlier run by an error when nothing ran", async () => {
    const { bodies } = await kept(
      { comments: [comment(1, `${MARKER}\nno changes`)] },
      { body: null },
    );
    expect(bodies).toEqual([
      expect.stringMatching(/^<!-- signalbox-simulation -->\n## Signalbox simulation: error\n/),
    ]);
  });

  it.each([
    ["65,536 characters", 65_536, true],
    ["one more", 65_537, false],
    ["a million", 1_000_000, false],
  ])("of %s fits into GitHub's limit", async (_name, length, whole) => {
    const line = "a line of the report, as long as lines are\n";
    const body = `${NEW}${line.repeat(Math.ceil(length / line.length))}`.slice(0, length);
    const { code, bodies } = await kept({}, { body });
    const [written = ""] = bodies;
    expect(code).toBe(0);
    expect(written.startsWith(MARKER)).toBe(true);
    expect(written === body).toBe(whole);
    expect(written.length).toBeLessThanOrEqual(65_536);
    if (!whole)
      expect(written).toMatch(
        /as lines are\n\n\*\*Cut: .*https:\/\/github\.example\/acme\/routes\/actions\/runs\/99/,
      );
  });

  it("closes an open fence and details element where it is cut, so that the note renders", async () => {
    const open = `${NEW}\n<details>\n<summary>x</summary>\n\n\`\`\`\`diff\n${"+ ```\n".repeat(20_000)}`;
    const { bodies } = await kept({}, { body: open });
    expect(bodies[0]).toMatch(/\n\+ ```\n````\n\n<\/details>\n\n\*\*Cut: /);
  });

  it("is not written in a run without a pull request", async () => {
    const github = await fakeGithub();
    const runner = makeRunner(COMMITS);
    setEvent(runner, { ref: "refs/heads/main" });
    const { code } = await runScript(runner, "comment.mjs", github.environment);
    expect([code, github.requests]).toEqual([0, []]);
  });

  it("never shows the token", async () => {
    const { stdout, stderr, bodies } = await kept({
      refusals: { [`POST ${LIST}`]: { always: 500 } },
    });
    expect(`${stdout}${stderr}${bodies.join("")}`).not.toContain("token-of-the-run");
  });
});
