import { describe, expect, it } from "vitest";
import { DIGESTS, fakeServer, slot, STRICT, view } from "./fake-server.ts";

const GET = "GET /v1/policies/eu-residency";
const POST = "POST /v1/policies/eu-residency/promotions";
const PROMOTED = view({
  state: "enforced",
  enforced: slot(2, DIGESTS.r2),
  candidate: null,
  missing: null,
  can_roll_back: true,
  rollback_to: { revision: "r1", digest: DIGESTS.r1 },
});

describe("signalbox policy promote", () => {
  it("promotes exactly the candidate that it read, and prints the new state and the undo command", async () => {
    const server = await fakeServer({ [GET]: { body: view() }, [POST]: { body: PROMOTED } });
    const { code, stdout, stderr } = await server.run(["promote", "eu-residency"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(
      [
        "eu-residency: promoting r1 (1a1a1a1a) → r2 (2b2b2b2b)",
        "promoted r2 (2b2b2b2b)",
        "now: r2 (2b2b2b2b) is enforced",
        "undo: signalbox policy rollback eu-residency",
        "",
      ].join("\n"),
    );
    expect(server.requested.map(({ line }) => line)).toEqual([GET, POST]);
    expect(server.requested[1]).toMatchObject({
      ifMatch: '"v1-0123456789abcdef"',
      body: { expected: { candidate_revision: "r2", enforced_revision: "r1" } },
    });
  });

  it("uses the tag of the body: a compressing proxy weakens the header's", async () => {
    const headers = { etag: 'W/"v1-0123456789abcdef"' };
    const server = await fakeServer({
      [GET]: { body: view(), headers },
      [POST]: { body: PROMOTED },
    });
    expect((await server.run(["promote", "eu-residency"])).code).toBe(0);
    expect(server.requested[1]?.ifMatch).toBe('"v1-0123456789abcdef"');
  });

  it("prints that promoting a removal ends the policy", async () => {
    const end = slot(3, DIGESTS.end, { content: "removal" });
    const server = await fakeServer({
      [GET]: { body: view({ state: "ending", candidate: end }) },
      [POST]: { body: view({ state: "ended", enforced: end, candidate: null, missing: null }) },
    });
    const { stdout } = await server.run(["promote", "eu-residency"]);
    expect(stdout).toContain("promoting r1 (1a1a1a1a) → its removal, r3 (edededed)\n");
    expect(stdout).toContain("now: it has ended, nothing is enforced\n");
  });

  it("distinguishes the first promotion", async () => {
    const server = await fakeServer({
      [GET]: { body: view({ enforced: null }) },
      [POST]: { body: PROMOTED },
    });
    const { code, stdout } = await server.run([
      "promote",
      "eu-residency",
      "--expect-enforced",
      "none",
    ]);
    expect([code, stdout.split("\n")[0]]).toEqual([
      0,
      "eu-residency: promoting nothing → r2 (2b2b2b2b)",
    ]);
    expect(server.requested[1]?.body).toEqual({
      expected: { candidate_revision: "r2", enforced_revision: null },
    });
  });

  it.each([
    [["--expect-candidate", "r3"], "--expect-candidate: it is r2 now"],
    [["--expect-candidate", "none"], "--expect-candidate: it is r2 now"],
    [["--expect-enforced", "none"], "--expect-enforced: it is r1 now"],
    [["--expect-candidate", "r2", "--expect-enforced", "r2"], "--expect-enforced: it is r1 now"],
  ])("refuses revisions other than the ones of the flags: %j", async (flags, reported) => {
    const server = await fakeServer({ [GET]: { body: view() }, [POST]: { body: PROMOTED } });
    const { code, stdout, stderr } = await server.run(["promote", "eu-residency", ...flags]);
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toContain(reported);
    expect(server.requested).toHaveLength(1);
  });

  it("requests nothing where there is no candidate", async () => {
    const server = await fakeServer({ [GET]: { body: view({ candidate: null, missing: null }) } });
    const { code, stderr } = await server.run(["promote", "eu-residency"]);
    expect([code, server.requested.length]).toEqual([3, 1]);
    expect(stderr).toContain("there is no candidate");
  });

  it("prints the server's sentences on missing requirements, before and after the refusal", async () => {
    const error = {
      code: "approvals_required",
      message: "The promotion still needs 2 approvals.",
      fix: "Ask ID.",
    };
    const server = await fakeServer({
      [GET]: { body: view(STRICT) },
      [POST]: { status: 409, body: { error } },
    });
    const { code, stdout, stderr } = await server.run(["promote", "eu-residency"]);
    expect(code).toBe(3);
    expect(stdout.replaceAll("\n  ", " ")).toContain(
      "missing: 2 approvals of this content (1 count); an approver with the role privacy; 7d in shadow (2d 3h so far)\n",
    );
    expect(stderr).toBe(
      "signalbox policy promote: The promotion still needs 2 approvals. Ask eu-residency. Nothing was done.\n",
    );
  });

  it("prints the answer alone as JSON", async () => {
    const server = await fakeServer({ [GET]: { body: view() }, [POST]: { body: PROMOTED } });
    const { stdout } = await server.run(["promote", "eu-residency", "--format", "json"]);
    expect(JSON.parse(stdout)).toEqual(PROMOTED);
  });
});
