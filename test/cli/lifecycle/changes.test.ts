import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { objectOf, textOf } from "../../../src/cli/terminal/call-server.ts";
import { temporaryFolder } from "../simulate/repository.ts";
import {
  approval,
  content,
  DIGESTS,
  fakeServer,
  lacking,
  slot,
  view,
  type FakeServer,
  type Reply,
} from "./fake-server.ts";

const GET = "GET /v1/policies/eu-residency";
const ETAG = '"v1-0123456789abcdef"';
const CONTENT = `${GET}/content?digest=`;

/** A policy, and what becomes of it. */
function changing(
  before: JsonObject,
  what: string,
  after: JsonObject,
  more: Record<string, Reply> = {},
) {
  return fakeServer({
    [GET]: { body: before },
    [`POST /v1/policies/eu-residency/${what}`]: { body: after },
    ...more,
  });
}

async function done(server: FakeServer, argv: readonly string[], io = {}): Promise<string> {
  const { code, stdout, stderr } = await server.run(argv, io);
  expect([stderr, code]).toEqual(["", 0]);
  return stdout;
}

describe("signalbox policy approve", () => {
  const after = view({
    approvals: [approval("k1")],
    missing: [lacking("approvals", "2 approvals of this content (1 count)", "")],
  });

  it("approves the candidate's digest, and prints the requirements still missing", async () => {
    const server = await changing(view(), "approvals", after);
    expect(await done(server, ["approve", "eu-residency"])).toBe(
      [
        "eu-residency: approved r2 (2b2b2b2b)",
        "still missing: 2 approvals of this content (1 count)",
        "undo: signalbox policy withdraw eu-residency --digest 2b2b2b2b2b2b",
        "",
      ].join("\n"),
    );
    expect(server.requested.at(-1)).toMatchObject({
      body: { digest: DIGESTS.r2 },
      ifMatch: undefined,
    });
  });

  it("prints that the missing requirements are unknown where the answer lacks them", async () => {
    const server = await changing(view(), "approvals", { ...after, missing: undefined });
    expect(await done(server, ["approve", "eu-residency"])).toContain(
      "the missing requirements are unknown\n",
    );
  });

  it("names the next command where nothing more is required", async () => {
    const server = await changing(view(), "approvals", view({ missing: [] }));
    const said = await done(server, ["approve", "eu-residency"]);
    expect(said).toContain(
      "nothing more is required\nnext: signalbox policy promote eu-residency\n",
    );
  });

  it("accepts the first digits of a digest, for content in every slot", async () => {
    const server = await changing(
      view({ held: [{ revision: "r3", digest: DIGESTS.r3 }] }),
      "approvals",
      after,
      { [`${CONTENT}3c3c3c`]: content(3, DIGESTS.r3) },
    );
    const said = await done(server, ["approve", "eu-residency", "--digest", "3c3c3c"]);
    expect(server.requested.at(-1)?.body).toEqual({ digest: DIGESTS.r3 });
    expect(said).toContain("approved r3 (3c3c3c3c)\nnote: this content is not the candidate now\n");
  });

  it.each([{ digest: "$(id)" }, { digest: "2b2b2b" }, { object: "policy" }])(
    "sends nothing after an answer that is no content: %j",
    async (more) => {
      const server = await changing(view(), "approvals", after, {
        [`${CONTENT}3c3c3c`]: content(3, DIGESTS.r3, more),
      });
      const { code, stderr } = await server.run(["approve", "eu-residency", "--digest", "3c3c3c"]);
      expect([code, server.requested.length]).toEqual([1, 2]);
      expect(stderr).toContain("the answer is not one of Signalbox");
    },
  );

  it.each([
    [["--digest", "2b2b2"], 2, "6 to 64 digits"],
    [["--digest", "candidate"], 2, "6 to 64 digits"],
    [["--digest", "r2"], 2, "6 to 64 digits"],
    [["--digest", "ffffff"], 1, "answered with 404, content_not_found: No content."],
  ])("refuses %j", async (flags, code, reported) => {
    const error = { code: "content_not_found", message: "No content." };
    const server = await changing(view(), "approvals", after, {
      [`${CONTENT}ffffff`]: { status: 404, body: { error } },
    });
    const ran = await server.run(["approve", "eu-residency", ...flags]);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(reported);
    expect(server.requested.filter(({ line }) => line.startsWith("POST"))).toEqual([]);
  });

  it("is refused without a candidate", async () => {
    const server = await changing(view({ candidate: null }), "approvals", after);
    const { code, stderr } = await server.run(["approve", "eu-residency"]);
    expect(code).toBe(3);
    expect(stderr).toContain("there is no candidate; name another content with --digest");
  });
});

describe("signalbox policy approve --report", () => {
  const head = (policies: readonly object[]) => ({
    name: "head",
    table_revision: "cd".repeat(32),
    policies,
  });
  const candidate = {
    id: "eu-residency",
    digest: DIGESTS.r2,
    slot: "candidate",
    content: "rules",
    from: "head",
  };
  const kept = { ...candidate, digest: DIGESTS.r1, slot: "enforced", from: "base" };
  const report = (more: object = {}) => ({
    format: "signalbox.simulation.v4",
    base: head([]),
    head: head([kept, candidate]),
    complete: true,
    promoted_policies: ["eu-residency"],
    assertions: {
      passed: 5,
      failed: 0,
      waived: 1,
      coverage: [
        { what: "routes", required: 100, status: "PASS" },
        { what: "reasons", required: 90, status: "FAIL" },
        { what: "constraints", required: null, status: "PASS" },
      ],
    },
    ...more,
  });

  /** @param own the server's own report; unless given it is the one in the file. */
  async function approveWith(text: string | Uint8Array, policy: JsonObject = view(), own?: Reply) {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "report.json"), text);
    const digest = textOf(objectOf(policy, "candidate"), "digest");
    const simulation: Reply = own ?? { body: typeof text === "string" ? text : "" };
    const server = await changing(policy, "approvals", view(), {
      [`${GET}/simulation?digest=${digest}`]: simulation,
    });
    const ran = await server.run(["approve", "eu-residency", "--report", "report.json"], {
      cwd,
      environment: { SIGNALBOX_KEY: "k", SIGNALBOX_SERVER: server.url },
    });
    return {
      ...ran,
      sent: server.requested.find(({ line }) => line.startsWith("POST"))?.body ?? null,
    };
  }

  it("sends the hash of the file's bytes, and the facts that it holds, gates of coverage among them", async () => {
    const text = `${JSON.stringify(report(), null, 2)}\n`;
    const { code, sent } = await approveWith(text);
    expect([code, sent]).toEqual([
      0,
      {
        digest: DIGESTS.r2,
        report: {
          sha256: createHash("sha256").update(text).digest("hex"),
          table_revision: "cd".repeat(32),
          complete: true,
          assertions: { passed: 6, failed: 1, waived: 1 },
        },
      },
    ]);
  });

  describe("against the server's own", () => {
    const seen = JSON.stringify(report());
    const requiring = view({ requirements: { ...objectOf(view(), "requirements"), report: true } });
    const verified = createHash("sha256")
      .update(`${JSON.stringify(report({ base: { ...head([]), name: "enforced" } }), null, 2)}\n`)
      .digest("hex");

    it("cites the server's report where the file has the same report in other bytes", async () => {
      const own = { body: report({ base: { ...head([]), name: "enforced" } }) };
      const { code, sent } = await approveWith(seen, requiring, own);
      expect([code, sent]).toMatchObject([
        0,
        { report: { sha256: verified, assertions: { passed: 6 } } },
      ]);
    });

    it("refuses a different report where one is required, and lists the differences", async () => {
      const own = {
        body: report({ complete: false, base: { ...head([]), table_revision: "ee".repeat(32) } }),
      };
      const { code, stderr, sent } = await approveWith(seen, requiring, own);
      expect([code, sent]).toEqual([3, null]);
      expect(stderr).toContain(
        "(the table of its base, whether every class was decided); read the server's: ",
      );
      expect(stderr).toContain(
        `signalbox policy simulate eu-residency --digest ${DIGESTS.r2.slice(0, 12)}`,
      );
    });

    it("sends a report that differs as a claim, with a note, where no report is required", async () => {
      const { code, stderr, sent } = await approveWith(seen, view(), {
        body: report({ complete: false }),
      });
      expect(code).toBe(0);
      expect(sent).toMatchObject({
        report: { sha256: createHash("sha256").update(seen).digest("hex") },
      });
      expect(stderr).toContain("is not the simulation of this promotion as the server computes it");
    });

    it("approves nothing where a report is required and the server cannot make one", async () => {
      const own = { status: 409, body: { error: { code: "assertions_invalid", message: "No." } } };
      const { code, stderr, sent } = await approveWith(seen, requiring, own);
      expect([code, sent]).toEqual([3, null]);
      expect(stderr).toContain("--report: cannot be verified: No. Nothing was done.");
      expect((await approveWith(seen, view(), own)).code).toBe(0);
    });
  });

  it("cites an incomplete report without assertions as exactly that", async () => {
    const { sent } = await approveWith(
      JSON.stringify(report({ assertions: null, complete: false })),
    );
    expect(sent).toMatchObject({
      report: { complete: false, assertions: { passed: 0, failed: 0, waived: 0 } },
    });
  });

  it.each<[string, string, string]>([
    ["no JSON", "<html>", "is not a report"],
    ["a list", "[]", "is not a report"],
    ["something else", JSON.stringify({ object: "policy" }), "is not a report"],
    [
      "another version",
      JSON.stringify(report({ format: "signalbox.simulation.v1" })),
      "is not a report",
    ],
    [
      "another content",
      JSON.stringify(report({ head: head([{ ...candidate, digest: DIGESTS.r1 }]) })),
      "has other content",
    ],
    [
      "a tree without the policy",
      JSON.stringify(report({ head: head([]) })),
      "does not have the policy",
    ],
    [
      "the content on its base side alone",
      JSON.stringify(report({ base: head([candidate]), head: head([]) })),
      "does not have the policy",
    ],
    [
      "what head only keeps from its base",
      JSON.stringify(report({ head: head([{ ...kept, digest: DIGESTS.r2 }]) })),
      "does not have the policy",
    ],
    [
      "another policy's promotion",
      JSON.stringify(report({ promoted_policies: ["other"] })),
      "does not show the promotion of the policy",
    ],
  ])("refuses %s, and sends nothing", async (_name, text, reported) => {
    const { code, stderr, sent } = await approveWith(text);
    expect([code, sent]).toEqual([2, null]);
    expect(stderr).toContain("--report: ");
    expect(stderr).toContain(reported);
  });

  it("accepts content that the files enforce as declared", async () => {
    const first = report({
      head: head([{ ...candidate, slot: "enforced" }]),
      promoted_policies: [],
    });
    expect((await approveWith(JSON.stringify(first))).code).toBe(0);
  });

  it("accepts the digest of a policy's removal", async () => {
    const ending = view({ candidate: slot(3, DIGESTS.end, { content: "removal" }) });
    const end = { ...candidate, digest: DIGESTS.end, content: "removal" };
    expect(
      (await approveWith(JSON.stringify(report({ head: head([kept, end]) })), ending)).code,
    ).toBe(0);
    const silent = await approveWith(JSON.stringify(report({ head: head([]) })), ending);
    expect(silent.stderr).toContain("does not show the removal of the policy");
    const { stderr } = await approveWith(JSON.stringify(report()), ending);
    expect(stderr).toContain("has other content of the policy, and r3 is to be approved");
  });

  it("exits with 2 and names --report where the file cannot be read", async () => {
    const server = await changing(view(), "approvals", view());
    const { code, stderr } = await server.run([
      "approve",
      "eu-residency",
      "--report",
      "/nowhere/r.json",
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--report: the file cannot be read.*\(given: `\/nowhere\/r\.json`\)/);
  });
});

describe("signalbox policy rollback", () => {
  const promoted = view({
    state: "enforced",
    enforced: slot(2, DIGESTS.r2),
    candidate: null,
    can_roll_back: true,
    rollback_to: { revision: "r1", digest: DIGESTS.r1 },
  });
  const back = view({
    candidate: slot(2, DIGESTS.r2, { held: true }),
    held: [{ revision: "r2", digest: DIGESTS.r2 }],
  });

  it("enforces the previous revision again, and prints the command that undoes it", async () => {
    const server = await changing(promoted, "rollbacks", back);
    expect(await done(server, ["rollback", "eu-residency", "--reason", "wrong_denials"])).toBe(
      [
        "eu-residency: rolling back r2 (2b2b2b2b) → r1 (1a1a1a1a)",
        "rolled back r2 (2b2b2b2b)",
        "now: r1 (1a1a1a1a) is enforced; r2 (2b2b2b2b) is in shadow and held, so that it cannot be promoted",
        "undo: signalbox policy release eu-residency --digest 2b2b2b2b2b2b && signalbox policy promote eu-residency",
        "",
      ].join("\n"),
    );
    expect(server.requested[1]).toMatchObject({
      ifMatch: ETAG,
      body: {
        expected: { candidate_revision: null, enforced_revision: "r2" },
        reason: "wrong_denials",
      },
    });
  });

  it.each([
    ["none", null, "nothing"],
    ["r7", "r7", "r7"],
  ])("rolls back to the revision of --to %s", async (to, revision, shown) => {
    const server = await changing(promoted, "rollbacks", back);
    const said = await done(server, ["rollback", "eu-residency", "--to", to]);
    expect(said).toContain(`rolling back r2 (2b2b2b2b) → ${shown}\n`);
    expect(server.requested[1]?.body).toMatchObject({ to_revision: revision });
  });

  it("leaves the target to the server by default", async () => {
    const server = await changing(promoted, "rollbacks", back);
    await done(server, ["rollback", "eu-residency"]);
    expect(Object.keys(server.requested[1]?.body as object)).toEqual(["expected"]);
  });

  it.each([
    [["--to", "1"], 2, "--to: must be a revision such as r4, or none"],
    [["--reason", "wrong_denial"], 2, "--reason: "],
    [["--expect-enforced", "r1"], 3, "--expect-enforced: it is r2 now"],
  ])("refuses %j", async (flags, code, reported) => {
    const server = await changing(promoted, "rollbacks", back);
    const ran = await server.run(["rollback", "eu-residency", ...flags]);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(reported);
    expect(server.requested.filter(({ line }) => line.startsWith("POST"))).toEqual([]);
  });

  it("is refused where nothing is enforced, with the way out", async () => {
    const server = await changing(view({ enforced: null }), "rollbacks", back);
    const { code, stderr } = await server.run(["rollback", "eu-residency"]);
    expect([code, server.requested.length]).toEqual([3, 1]);
    expect(stderr).toContain(
      "nothing is enforced; for earlier content, see: signalbox policy history eu-residency",
    );
  });

  it("prints the server's message and fix where there is no earlier revision", async () => {
    const error = {
      code: "nothing_to_roll_back_to",
      message: "No earlier one.",
      fix: "Change ID.",
    };
    const server = await fakeServer({
      [GET]: { body: view({ can_roll_back: false, rollback_to: null }) },
      [`POST /v1/policies/eu-residency/rollbacks`]: { status: 409, body: { error } },
    });
    const { code, stderr } = await server.run(["rollback", "eu-residency"]);
    expect([code, stderr]).toEqual([
      3,
      "signalbox policy rollback: No earlier one. Change eu-residency. Nothing was done.\n",
    ]);
  });
});

describe("signalbox policy withdraw and release", () => {
  const none = view({ state: "enforced", candidate: null, missing: null });

  it("withdraws an approval", async () => {
    const server = await changing(view({ approvals: [approval("k1")] }), "withdrawals", view());
    const said = await done(server, ["withdraw", "eu-residency"]);
    expect(said).toContain("withdrew the approval of r2 (2b2b2b2b)\n");
    expect(said).toContain("undo: signalbox policy approve eu-residency --digest 2b2b2b2b2b2b\n");
    expect(server.requested[1]).toMatchObject({
      ifMatch: undefined,
      body: { what: "approval", digest: DIGESTS.r2 },
    });
  });

  it("withdraws the candidate, with the tag of the state that it read", async () => {
    const server = await changing(view(), "withdrawals", none);
    expect(await done(server, ["withdraw", "eu-residency", "--candidate"])).toBe(
      [
        "eu-residency: withdrawing the candidate r2 (2b2b2b2b)",
        "withdrew the candidate r2 (2b2b2b2b)",
        "now: r1 (1a1a1a1a) is enforced",
        "undo: signalbox policy release eu-residency --digest 2b2b2b2b2b2b",
        "",
      ].join("\n"),
    );
    expect(server.requested[1]).toMatchObject({
      ifMatch: ETAG,
      body: { what: "candidate", expected: { candidate_revision: "r2" } },
    });
  });

  it("refuses --candidate together with --digest before any request", async () => {
    const server = await changing(view(), "withdrawals", none);
    const { code, stderr } = await server.run([
      "withdraw",
      "eu-residency",
      "--candidate",
      "--digest",
      "2b2b2b",
    ]);
    expect([code, server.requested]).toEqual([2, []]);
    expect(stderr).toContain("--candidate, --digest: give one of them");
  });

  it.each<[JsonObject, string]>([
    [
      {
        held: [{ revision: "r3", digest: DIGESTS.r3 }],
        withdrawn: [{ revision: "r2", digest: DIGESTS.r2 }],
      },
      DIGESTS.r3,
    ],
    [{ withdrawn: [{ revision: "r2", digest: DIGESTS.r2 }] }, DIGESTS.r2],
  ])("releases the only matching content: %j", async (more, digest) => {
    const server = await changing(
      { ...none, ...more },
      "releases",
      view({ candidate: slot(9, digest) }),
    );
    const said = await done(server, ["release", "eu-residency"]);
    expect(server.requested[1]).toMatchObject({ ifMatch: ETAG, body: { digest } });
    expect(said).toContain("undo: signalbox policy withdraw eu-residency --candidate\n");
  });

  it("requires a digest where several revisions qualify, and fails where none does", async () => {
    const held = [
      { revision: "r2", digest: DIGESTS.r2 },
      { revision: "r3", digest: DIGESTS.r3 },
    ];
    const several = await changing({ ...none, held }, "releases", view(), {
      [`${CONTENT}3c3c3c`]: content(3, DIGESTS.r3),
    });
    const ran = await several.run(["release", "eu-residency"]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain("give the digest of one of r2 (2b2b2b2b), r3 (3c3c3c3c)");
    await done(several, ["release", "eu-residency", "--digest", "3c3c3c"]);
    expect(several.requested.at(-1)?.body).toEqual({ digest: DIGESTS.r3 });
    const nothing = await changing(none, "releases", view());
    expect((await nothing.run(["release", "eu-residency"])).code).toBe(3);
  });
});
