import { describe, expect, it } from "vitest";
import { DIGESTS, fakeServer, KEY, lacking, shadow, slot, STRICT, view } from "./fake-server.ts";

describe("signalbox policy list", () => {
  it("prints enforced, shadow and missing columns", async () => {
    const server = await fakeServer({
      "GET /v1/policies": {
        body: {
          object: "list",
          policy_set: "0123456789abcdef",
          table_revision: "cd".repeat(32),
          data: [
            { ...view(STRICT), missing: undefined },
            view({
              id: "no-training",
              state: "enforced",
              candidate: null,
              missing: undefined,
              drift: ["files_held"],
            }),
            view({
              id: "old-rule",
              state: "ending",
              candidate: slot(3, DIGESTS.end, { content: "removal" }),
            }),
            view({
              id: "rolled-back",
              state: "shadow",
              enforced: null,
              candidate: slot(1, DIGESTS.r1, { held: true }),
            }),
          ],
        },
      },
      "GET /v1/policies/eu-residency": { body: view(STRICT) },
    });
    const { code, stdout, stderr } = await server.run(["list"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatchInlineSnapshot(`
      "policy set 0123456789abcdef, table cdcdcdcdcdcd

      ID            STATE     ENFORCED       SINCE              CANDIDATE          SINCE              APPROVALS  DRIFT       MISSING
      eu-residency  changing  r1 (1a1a1a1a)  2026-03-02T09:00Z  r2 (2b2b2b2b)      2026-03-02T09:00Z  1 of 2     -           2 approvals of this content (1 count); an approver with the role privacy; 7d in shadow (2d 3h so far)
      no-training   enforced  r1 (1a1a1a1a)  2026-03-02T09:00Z  -                  -                  -          files held  -
      old-rule      ending    r1 (1a1a1a1a)  2026-03-02T09:00Z  r3 (edededed) end  2026-03-02T09:00Z  0 of 0     -           none; ready to promote
      rolled-back   shadow    -              -                  r1 (1a1a1a1a)      2026-03-02T09:00Z  0 of 0     -           held
      "
    `);
    expect(server.requested.map(({ line }) => line)).toEqual([
      "GET /v1/policies",
      "GET /v1/policies/eu-residency",
    ]);
    expect(server.requested[0]).toMatchObject({ authorization: `Bearer ${KEY}` });
  });

  it("requests ended policies, and prints a line where there is none", async () => {
    const body = {
      object: "list",
      policy_set: "0123456789abcdef",
      table_revision: "cd".repeat(32),
      data: [],
    };
    const server = await fakeServer({ "GET /v1/policies?ended=true": { body } });
    expect((await server.run(["list", "--ended"])).stdout).toBe(
      "No policies (policy set 0123456789abcdef, table cdcdcdcdcdcd).\n",
    );
    expect(JSON.parse((await server.run(["list", "--ended", "--format", "json"])).stdout)).toEqual(
      body,
    );
  });
});

describe("signalbox policy show", () => {
  const paths = (policy: unknown, said: unknown = shadow()) => ({
    "GET /v1/policies/eu-residency": { body: policy },
    "GET /v1/policies/eu-residency/shadow?examples=20": { body: said },
  });

  it("prints slots, approvals, requirements, drift, the shadow report with commands, and the next command", async () => {
    const server = await fakeServer(
      paths(
        view({
          ...STRICT,
          can_roll_back: true,
          rollback_to: null,
          held: [{ revision: "r3", digest: DIGESTS.r3 }],
          drift: ["candidate_not_in_files"],
          files: { revision: "r1", digest: DIGESTS.r1 },
        }),
      ),
    );
    const { code, stdout, stderr } = await server.run(["show", "eu-residency"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatchInlineSnapshot(`
      "eu-residency  Regulated workspaces stay in the European Union
        state        changing: enforced, with new content in shadow
        owners       group:privacy

      Enforced: r1 (1a1a1a1a)
        digest       1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a
        since        2026-03-02T09:00Z, first seen 2026-03-01T08:00Z
        constraint   processed_in_eu (filter): REGION_NOT_IN_EU
        obligation   short_answers: max_output_tokens 500
        operations   chat.completions, messages

      Candidate: r2 (2b2b2b2b)
        digest       2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b
        since        2026-03-02T09:00Z, first seen 2026-03-01T08:00Z
        constraint   processed_in_eu (filter): REGION_NOT_IN_EU
        obligation   short_answers: max_output_tokens 500
        operations   chat.completions, messages

      Approvals of the candidate
        ✓ 2026-03-03T10:30Z  key k1 of platform (security), report abababab (verified, complete; assertions 5 passed, 0
          failed, 1 waived)

      Required for its promotion
        ✗ 2 approvals of this content (1 count)
        ✗ an approver with the role privacy
        ✗ 7d in shadow (2d 3h so far)
        ✓ min_decisions: 1000
        ✓ no_indeterminate
        ✓ report
        ✓ assertions

      Behind it
        rollback to  nothing
        held         r3 (3c3c3c3c)
        files        r1 (1a1a1a1a) in the files of the server that answered

      Drift
        the candidate differs from the content of the files; update the files or withdraw it
          signalbox policy withdraw eu-residency --candidate

      In shadow: r2 since 2026-03-02T09:00Z, evaluated for 1,204 requests
        all since it was first seen, 2026-03-01T08:00Z
        would deny     37 of 1,204 (3.0 %), 12 of them let through now
        would narrow   4 of 1,204 (0.3 %)
        indeterminate  0 of 1,204 (0.0 %)
        by constraint
          constraint       reason            would deny  let through now  would narrow  indeterminate
          processed_in_eu  REGION_NOT_IN_EU          37               12             4              0
        by route
          route    requests  would deny  let through now  would narrow  indeterminate
          chat-eu     1,204          37               12             4              0
        by workspace
          workspace     requests  would deny  let through now  would narrow  indeterminate
          shop             1,000          37               12             4              0
          (all others)       204           0                0             0              0

      Requests that it concerns (from the newest 5,000 decisions since 2026-03-02T08:00Z)
        would deny processed_in_eu REGION_NOT_IN_EU, 9 requests, 2026-03-02T09:10Z to 2026-03-04T11:00Z
          shop requests chat.completions of chat-eu in production
          request req_01
          try     signalbox explain --point '{"workspace":"shop","operation":"chat.completions","model":"chat-eu","context":"to_4k","time":{"day":"weekday","hour":"morning"}}'

      Next
        \`signalbox policy approve eu-residency\`, by another person. Wait.
        signalbox policy approve eu-residency --digest 2b2b2b2b2b2b --report report.json
      "
    `);
  });

  it("shows a policy's end that waits, without a shadow report: it has no rules", async () => {
    const ending = view({
      state: "ending",
      candidate: slot(3, DIGESTS.end, { content: "removal" }),
      drift: ["not_in_files"],
      files: null,
    });
    const server = await fakeServer(paths(ending));
    const { stdout } = await server.run(["show", "eu-residency"]);
    expect(stdout).toContain("Candidate: r3 (edededed), the policy's removal\n");
    expect(stdout).toContain("    signalbox policy promote eu-residency\n");
    expect(stdout).not.toContain("In shadow");
    expect(server.requested).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    [
      "nothing is in shadow",
      { state: "enforced", candidate: null, missing: null },
      "nothing to do: there is no candidate",
    ],
    [
      "nothing is missing",
      {},
      "signalbox policy promote eu-residency --expect-candidate r2 --expect-enforced r1",
    ],
    [
      "nothing is enforced yet",
      { state: "shadow", enforced: null },
      "signalbox policy promote eu-residency --expect-candidate r2 --expect-enforced none",
    ],
    [
      "an approval is missing",
      { missing: [lacking("approvals", "1 approval", "")] },
      "signalbox policy approve eu-residency --digest 2b2b2b2b2b2b",
    ],
    [
      "it must be in shadow longer",
      { missing: [lacking("soak", "1m in shadow", "Wait, then show ID.")] },
      "Wait, then show eu-residency.",
    ],
    [
      "it is held",
      { candidate: slot(2, DIGESTS.r2, { held: true }) },
      "signalbox policy release eu-residency --digest 2b2b2b2b2b2b",
    ],
    [
      "a newer server has more requirements",
      { missing: [lacking("moon_phase", "a full moon", "Wait for it.")] },
      "Wait for it.",
    ],
  ])("prints the next command where %s", async (_name, more, next) => {
    const server = await fakeServer(paths(view({ ...more })));
    const { stdout } = await server.run(["show", "eu-residency"]);
    expect(stdout.slice(stdout.indexOf("\nNext\n"))).toContain(next);
  });

  it.each<[readonly string[], object, readonly string[]]>([
    [
      ["files_differ"],
      { candidate: null },
      ["is in no slot", "signalbox policy release eu-residency --digest 3c3c3c3c3c3c"],
    ],
    [["files_differ"], {}, ["is in no slot", "update the files of an older replica"]],
    [
      ["files_differ", "files_held"],
      {},
      ["was rolled back and is held", "release eu-residency --digest 3c3c3c3c3c3c"],
    ],
    [
      ["files_differ", "files_withdrawn"],
      {},
      ["was withdrawn", "release eu-residency --digest 3c3c3c3c3c3c"],
    ],
    [
      ["candidate_not_in_files"],
      {},
      ["the candidate differs", "signalbox policy withdraw eu-residency --candidate"],
    ],
    [["not_in_files"], {}, ["do not have the policy", "SIGHUP"]],
    [["something_newer"], {}, ["something_newer"]],
  ])("explains each drift once, with its resolution: %j", async (drift, more, reported) => {
    const files = { revision: "r3", digest: DIGESTS.r3 };
    const server = await fakeServer(paths(view({ drift: [...drift], files, ...more })));
    const { stdout } = await server.run(["show", "eu-residency"]);
    const section = /\nDrift\n([^]*?)\n\n/.exec(stdout)?.[1] ?? "";
    for (const text of reported) expect(`${section}\n`).toContain(text);
    expect(section.match(/^ {2}\S/gm)).toHaveLength(1);
  });

  it("names the server in commands where a flag named it", async () => {
    const server = await fakeServer(paths(view()));
    const { stdout } = await server.run(["show", "eu-residency", "--server", server.url], {
      environment: { SIGNALBOX_KEY: KEY },
    });
    expect(stdout).toContain(`--expect-enforced r1 --server ${server.url}\n`);
  });

  it("prints both answers as JSON", async () => {
    const server = await fakeServer(paths(view()));
    const { stdout } = await server.run(["show", "eu-residency", "--format", "json"]);
    expect(JSON.parse(stdout)).toEqual({ policy: view(), shadow: shadow() });
  });

  it.each([
    "explain --workspace $(id)",
    "explain; rm -rf /",
    "explain\n--workspace a",
    "keys revoke a",
    "explain 'a'b'",
    "",
    null,
    ["explain"],
    `explain ${"a ".repeat(4_000)}`,
  ])("prints no command that would do more than explain: %j", async (explain) => {
    const example = { ...(shadow().examples as object[])[0], explain };
    const server = await fakeServer(paths(view(), shadow({ examples: [example] as never })));
    const { code, stdout } = await server.run(["show", "eu-residency"]);
    expect(code).toBe(0);
    expect(stdout).toContain("request req_01");
    expect(stdout).not.toContain("try     ");
  });

  it("no text of a server moves the cursor", async () => {
    const evil = "a\u001b[2J\u009b\u202e\nb";
    const server = await fakeServer(
      paths(
        view({
          title: evil,
          owners: [evil],
          drift: [evil],
          state: evil,
          missing: [{ requirement: evil }],
        }),
        shadow({ by_route: [{ route: evil, judged: 1 }] as never }),
      ),
    );
    const { code, stdout } = await server.run(["show", "eu-residency"]);
    expect(code).toBe(0);
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(stdout).toContain("a\uFFFD[2J");
  });
});
