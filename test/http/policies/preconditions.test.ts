import { beforeAll, describe, expect, it } from "vitest";
import { readIfMatch } from "../../../src/http/control/policies/change-handlers.ts";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import { Fixture, type MadeKey } from "./fixture.ts";
import { refusedOr } from "../../support/refusals.ts";

/** `a` has r1 enforced and r2 for its candidate; nothing here may change that. */
const fixture = await Fixture.open();
let key: MadeKey;
let etag = "";
let rows = 0;

beforeAll(async () => {
  key = await fixture.key();
  await fixture.observe({ a: "first", b: "other" }, "start", "enforce");
  await fixture.observe({ a: "second", b: "other" });
  ({ etag } = (await fixture.get(key, "/v1/policies/a")).json);
  rows = fixture.log.rows.length;
});

interface Guarded {
  readonly path: string;
  readonly body: object;
  /** Bodies whose revisions are not those of the slots. */
  readonly wrong: readonly object[];
}

const GUARDED: readonly Guarded[] = [
  {
    path: "promotions",
    body: { expected: { candidate_revision: "r2", enforced_revision: "r1" } },
    wrong: [
      { expected: { candidate_revision: "r1", enforced_revision: "r1" } },
      { expected: { candidate_revision: "r3", enforced_revision: "r1" } },
      { expected: { candidate_revision: "r2", enforced_revision: "r2" } },
      { expected: { candidate_revision: "r2", enforced_revision: null } },
    ],
  },
  {
    path: "rollbacks",
    body: { expected: { enforced_revision: "r1" } },
    wrong: [
      { expected: { enforced_revision: "r2" } },
      { expected: { enforced_revision: "r1", candidate_revision: null } },
      { expected: { enforced_revision: "r1", candidate_revision: "r1" } },
    ],
  },
  {
    path: "withdrawals",
    body: { what: "candidate", expected: { candidate_revision: "r2" } },
    wrong: [{ what: "candidate", expected: { candidate_revision: "r1" } }],
  },
  { path: "releases", body: { digest: digestOf("first") }, wrong: [] },
];

describe.each(GUARDED.map((guarded) => [guarded.path, guarded] as const))(
  "POST …/%s",
  (path, { body, wrong }) => {
    const post = (ifMatch: string | undefined, sent: object = body) =>
      fixture.post(key, `/v1/policies/a/${path}`, {
        body: sent,
        ...(ifMatch !== undefined && { ifMatch }),
      });

    it.each([
      ["no tag", undefined],
      ["an empty one", ""],
      ["any", "*"],
      ["any, with spaces", "  * "],
    ])("requires the tag of the state that was read: %s", async (_, ifMatch) => {
      const answer = await post(ifMatch);
      expect(answer).toMatchObject({
        status: 428,
        json: {
          error: {
            code: "precondition_required",
            param: "If-Match",
            type: "invalid_request_error",
          },
        },
      });
      expect(answer.json.error.message).toMatch(/ETag/);
    });

    it.each([
      ["another tag", () => '"0123456789abcdef0123456789abcdef"'],
      ["the weak form of the right one", () => `W/${etag}`],
      ["an empty tag", () => '""'],
      ["the tag of another policy", () => otherTag],
      ["a list without it", () => `"x", W/${etag}, "y"`],
    ])("refuses %s with the current state", async (_, ifMatch) => {
      const answer = await post(ifMatch());
      expect(answer.status, answer.text).toBe(412);
      expect(answer.json.error).toMatchObject({
        code: "precondition_failed",
        current: { etag, candidate_revision: "r2", enforced_revision: "r1" },
      });
    });

    it.each([
      ["without its quotation marks", () => etag.slice(1, -1)],
      ["with one of them", () => etag.slice(1)],
      ["with `*` in a list", () => `*, ${etag}`],
      ["with a canary behind it", () => `${etag} canary`],
      ["seventeen times", () => Array.from({ length: 17 }, () => etag).join(", ")],
    ])("refuses a tag %s as invalid", async (_, ifMatch) => {
      const answer = await post(ifMatch());
      expect(answer).toMatchObject({
        status: 400,
        json: { error: { code: "invalid_value", param: "If-Match" } },
      });
      expect(answer.text).not.toContain("canary");
    });

    it.each(wrong.map((sent) => [JSON.stringify(sent), sent] as const))(
      "refuses the right tag with %s",
      async (_, sent) => {
        const answer = await post(etag, sent);
        expect(answer.status, answer.text).toBe(412);
        expect(answer.json.error.current).toEqual({
          etag,
          candidate_revision: "r2",
          enforced_revision: "r1",
        });
      },
    );

    it("answers 404 for an unknown policy before it requires a tag", async () => {
      const answer = await fixture.post(key, `/v1/policies/nobody/${path}`, { body });
      expect(answer).toMatchObject({ status: 404, json: { error: { code: "policy_not_found" } } });
    });
  },
);

let otherTag = "";
beforeAll(async () => {
  otherTag = (await fixture.get(key, "/v1/policies/b")).json.etag;
});

it("no refused request has changed anything, or is recorded as a change", async () => {
  expect((await fixture.get(key, "/v1/policies/a")).json.etag).toBe(etag);
  expect(fixture.log.rows.length).toBe(rows);
  expect(fixture.steps).toEqual([]);
  expect(fixture.router.decisions.filter(({ change }) => change !== undefined)).toEqual([]);
  expect(
    fixture.router.decisions.filter(({ reason }) => reason === "precondition_failed").length,
  ).toBeGreaterThan(10);
});

it("the right tag is accepted in a list of others", async () => {
  const other = await Fixture.open();
  const manager = await other.key();
  await other.observe({ a: "first" });
  const present = (await other.get(manager, "/v1/policies/a")).json.etag;
  const answer = await other.post(manager, "/v1/policies/a/promotions", {
    ifMatch: `"old", ${present} , W/"x"`,
    body: { expected: { candidate_revision: "r1", enforced_revision: null } },
  });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers.get("etag")).toBe(answer.json.etag);
  expect(answer.json.etag).not.toBe(present);
});

describe("If-Match", () => {
  it.each<[string | undefined, string | number]>([
    ['"a"', '"a"'],
    ['"b", "a"', '"a"'],
    ['"b","c"', '"b"'],
    ['W/"a"', 'W/"a"'],
    ['"a,b", "a"', '"a"'],
    ['"a" "b"', 400],
    ['"a",', 400],
    ['w/"a"', 400],
    ['"a\u0000"', 400],
    ["*", 428],
    [undefined, 428],
  ])("of %s reads as %s", (header, expected) => {
    const read = refusedOr(() => readIfMatch(header, '"a"'));
    expect(typeof read === "string" ? read : read.status).toBe(expected);
  });
});
