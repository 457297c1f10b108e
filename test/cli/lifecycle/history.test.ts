import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { DIGESTS, fakeServer } from "./fake-server.ts";

const ROWS = (after: number) =>
  `GET /v1/policies/eu-residency/transitions?after=${after}&limit=500`;
const BY = {
  keyId: "k1",
  workspace: "platform",
  origin: "k1",
  roles: ["security"],
  requestId: "req_1",
};
const R1 = { revision: 1, digest: DIGESTS.r1, module: null };
const R2 = { revision: 2, digest: DIGESTS.r2, module: null };
const REPORT = {
  sha256: "ab".repeat(32),
  tableRevision: "cd".repeat(32),
  complete: true,
  assertions: { passed: 5, failed: 0, waived: 1 },
  verification: { result: "not_computed" },
};

function row(position: number, record: JsonObject): JsonObject {
  const at = Date.UTC(2026, 2, 1, 8, position);
  return {
    position,
    previous: "00".repeat(32),
    hash: "11".repeat(32),
    record: { policy: "eu-residency", at, ...record },
  };
}

const TABLE = { tableRevision: "cd".repeat(32) };

const PROMOTED: JsonObject = {
  kind: "promoted",
  ...TABLE,
  requirements: {},
  by: { ...BY, keyId: "k2", roles: [] },
  from: R1,
  to: R2,
  approvals: [
    { by: BY, at: 1, report: REPORT },
    { by: { ...BY, keyId: "k3" }, at: 2, report: null },
  ],
  shadow: {
    since: 1,
    judged: 1_204,
    wouldDeny: 37,
    newlyDenied: 12,
    wouldNarrow: 4,
    indeterminate: 0,
  },
};

describe("signalbox policy history", () => {
  it("prints one line for each event", async () => {
    const rows = [
      row(2, { kind: "observed", ...TABLE, ...R1, content: "rules", slot: "enforced" }),
      row(5, { kind: "observed", ...TABLE, ...R2, content: "rules", slot: "candidate" }),
      row(6, { kind: "approved", ...R2, by: BY, report: REPORT }),
      row(7, { kind: "approval_withdrawn", ...R2, by: BY }),
      row(8, PROMOTED),
      row(9, { kind: "rolled_back", ...TABLE, by: BY, from: R2, to: R1, reason: "wrong_denials" }),
      row(10, { kind: "released", ...R2, by: BY }),
      row(11, { kind: "candidate_withdrawn", ...R2, by: BY }),
      row(12, { kind: "returned", revision: 2, digest: DIGESTS.r2 }),
      row(13, {
        kind: "observed",
        ...TABLE,
        revision: 3,
        digest: DIGESTS.end,
        module: null,
        content: "removal",
        slot: "candidate",
      }),
      row(14, { ...PROMOTED, from: null, approvals: [], shadow: null }),
      row(15, { kind: "something_newer" }),
    ];
    const server = await fakeServer({
      [ROWS(0)]: { body: { object: "list", data: rows, has_more: false } },
    });
    const { code, stdout, stderr } = await server.run(["history", "eu-residency"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatchInlineSnapshot(`
      "POSITION  WHEN               WHAT                 FROM → TO                                   BY                             WITH
      2         2026-03-01T08:02Z  new content          r1 (1a1a1a1a), enforced                     a server's files               -
      5         2026-03-01T08:05Z  new content          r2 (2b2b2b2b), candidate                    a server's files               -
      6         2026-03-01T08:06Z  approved             r2 (2b2b2b2b)                               key k1 of platform (security)  claimed report abababab
      7         2026-03-01T08:07Z  approval withdrawn   r2 (2b2b2b2b)                               key k1 of platform (security)  -
      8         2026-03-01T08:08Z  promoted             r1 (1a1a1a1a) → r2 (2b2b2b2b)               key k2 of platform             approved by k1 and k3; of 1,204 requests in shadow 37 would have been denied, 12 of them let through
      9         2026-03-01T08:09Z  rolled back          r2 (2b2b2b2b) → r1 (1a1a1a1a)               key k1 of platform (security)  wrong denials
      10        2026-03-01T08:10Z  released             r2 (2b2b2b2b)                               key k1 of platform (security)  -
      11        2026-03-01T08:11Z  candidate withdrawn  r2 (2b2b2b2b)                               key k1 of platform (security)  -
      12        2026-03-01T08:12Z  files changed back   r2 (2b2b2b2b)                               a server's files               -
      13        2026-03-01T08:13Z  new content          r3 (edededed), the policy's end, candidate  a server's files               -
      14        2026-03-01T08:14Z  promoted             nothing → r2 (2b2b2b2b)                     key k2 of platform             no approvals
      15        2026-03-01T08:15Z  something newer      -                                           -                              -
      "
    `);
  });

  it("reads all pages, and prints the rows unchanged", async () => {
    const [first, second] = [row(3, PROMOTED), row(9, PROMOTED)];
    const server = await fakeServer({
      [ROWS(0)]: { body: { object: "list", data: [first], has_more: true } },
      [ROWS(3)]: { body: { object: "list", data: [second], has_more: false } },
    });
    const { stdout } = await server.run(["history", "eu-residency", "--format", "json"]);
    expect(JSON.parse(stdout)).toEqual([first, second]);
  });

  it.each<[string, unknown]>([
    ["always says the same", { object: "list", data: [row(3, PROMOTED)], has_more: true }],
    [
      "goes backwards",
      { object: "list", data: [row(3, PROMOTED), row(2, PROMOTED)], has_more: false },
    ],
    ["has rows without records", { object: "list", data: [{ position: 1 }], has_more: false }],
    ["has no rows", { object: "list" }],
  ])("a log that %s is refused as none of Signalbox", async (_name, body) => {
    const server = await fakeServer({ [ROWS(0)]: { body }, [ROWS(3)]: { body } });
    const { code, stderr } = await server.run(["history", "eu-residency"]);
    expect(code).toBe(1);
    expect(stderr).toContain("is not one of Signalbox");
  });

  it.each([1e300, -1e300, "x", null])("a row with an invalid time is shown: %j", async (at) => {
    const body = {
      object: "list",
      data: [row(1, { ...PROMOTED, at, kind: "a\u001b[2J" })],
      has_more: false,
    };
    const server = await fakeServer({ [ROWS(0)]: { body } });
    const { code, stdout } = await server.run(["history", "eu-residency"]);
    expect(code).toBe(0);
    expect(stdout).toContain("1         ?     a\uFFFD[2J");
  });
});
