import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { explainArguments } from "../../src/simulate/explain/explain-arguments.ts";
import type { SampleRequest } from "../../src/simulate/sample-request.ts";
import { explain, explained, point, ROOT } from "./explain-command.ts";
import { workplace } from "./policy-folder.ts";

const times = (count: number, value: object): readonly object[] =>
  Array.from({ length: count }, () => value);

describe("signalbox explain, against files", () => {
  it("names the endpoints of the route in its first line", async () => {
    const { stdout } = await explain(point({ workspace: "acme-prod", model: "chat-large-eu" }));
    expect(stdout).toMatch(/^ROUTED to gpt-5-eu, then mistral-large-eu\n/);
    expect(stdout).not.toContain("\u001b");
  });

  it("names the denying constraint, the reason and the client's status in its first line", async () => {
    const { code, stdout } = await explain(
      point({ workspace: "acme-prod", model: "chat-large-eu", needs: ["image_input"] }),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^DENIED by approvals\/capability_approved:image_input: CAPABILITY_NOT_APPROVED, 403: Denied by policy approvals@[0-9a-f]{12}: .*\n/,
    );
  });

  it("shows under each candidate every constraint, with the location of the line that decides it", async () => {
    const { stdout } = await explain(point({ workspace: "acme-prod", model: "chat-large-eu" }));
    const lines = stdout.split("\n");
    for (const text of ["1. gpt-5-eu (primary)", "2. mistral-large-eu (fallback)"]) {
      expect(lines.filter((line) => line.includes(text))).toHaveLength(1);
    }
    const locations = [
      ...stdout.matchAll(
        / ✓ {2}([\w-]+)\/(\w+)(?: \(\w+\))? {2}(policies\/[\w-]+\.rego):(\d+):(\d+)$/gm,
      ),
    ];
    expect(locations.length).toBeGreaterThan(6);
    for (const [, policy, constraint, file = "", line, column] of locations) {
      expect(file).toBe(`policies/${policy}.rego`);
      const rows = readFileSync(join(ROOT, file), "utf8").split("\n");
      const text = rows[Number(line) - 1]?.slice(Number(column) - 1);
      expect(text).toMatch(new RegExp(`^pass(\\.${constraint}|\\["${constraint}"\\])`));
    }
    expect(stdout).toMatch(/✓ {2}approvals\/provider_approved {2}routes\.yaml:\d+:\d+/);
  });

  it("shows policies without revision where no store has numbered them", async () => {
    const said = await explained(point({ workspace: "acme-prod", model: "chat-large-eu" }));
    const { table_revision: table, constraints } = said;
    const shown = (constraints as { policy: string; revision: unknown }[]).map(
      ({ policy, revision }) =>
        policy === "approvals" || policy === "preferences" ? revision === table : revision === null,
    );
    expect(new Set(shown)).toEqual(new Set([true]));
    expect(said.policy_revisions).toMatchObject({
      "eu-residency": { enforced: { revision: null } },
    });
  });

  it("reports an excluded candidate as not evaluated further, instead of passed", async () => {
    const said = await explained(
      point({ workspace: "demo", model: "chat-large", preferences: { region: ["eu"] } }),
    );
    expect(said).toMatchObject({
      outcome: "route",
      candidates: [
        {
          endpoint: "gpt-5-us",
          in_plan: false,
          constraints: [
            { constraint: "region", verdict: "fail" },
            ...times(9, { verdict: "not_asked", reason: null }),
          ],
        },
        { endpoint: "gpt-5-eu", in_plan: true, constraints: times(10, { verdict: "pass" }) },
        {
          endpoint: "mistral-large-eu",
          in_plan: true,
          constraints: times(10, { verdict: "pass" }),
        },
      ],
    });
  });

  it("applies candidates in shadow only with --promoted", async () => {
    const requested = point({ workspace: "acme-prod", model: "chat-large-eu", needs: ["tools"] });
    expect(await explained(requested)).toMatchObject({
      outcome: "route",
      promoted: false,
      if_promoted: { outcome: "deny", denial: { policy: { id: "tool-approval" } } },
    });
    expect(await explained([...requested, "--promoted"])).toMatchObject({
      outcome: "deny",
      promoted: true,
      if_promoted: null,
      denial: { policy: { id: "tool-approval" } },
    });
    expect((await explain(requested)).stdout).toContain(
      "If every candidate policy were promoted\n  DENIED by tool-approval/",
    );
  });

  it("reads a request's own body, from a file or from standard input", async () => {
    const body = JSON.stringify({
      model: "chat-small",
      messages: [{ role: "user", content: "a secret question" }],
      tools: [{ type: "function", function: { name: "f" } }],
      provider: { sort: "latency" },
    });
    const { path, write } = workplace();
    write("body.json", body);
    const requested = [...point({ workspace: "demo" }), "--request"];
    const [byFile, byInput] = [
      await explained([...requested, join(path, "body.json")]),
      await explained([...requested, "-"], { stdin: () => Promise.resolve(body) }),
    ];
    expect(byFile).toEqual(byInput);
    expect(byFile).toMatchObject({
      route: "chat-small",
      shape: { needs: ["tools"], context: "to_1k" },
    });
    const { stdout } = await explain([...requested, "-"], { stdin: () => Promise.resolve(body) });
    expect(stdout).toContain("sort: ordered at dispatch");
    expect(stdout).not.toContain("secret question");
  });

  it.each([
    [
      "an unknown member",
      { messages: [{ role: "user", content: "x" }], frobnicate: 1 },
      "request.frobnicate",
      1,
    ],
    ["a wrong type", { messages: "hello" }, "request.messages", 1],
    [
      "no model",
      { messages: [{ role: "user", content: "x" }], model: undefined },
      "model is required",
      1,
    ],
  ])("a request with %s is refused as a server would refuse it", async (_, body, found, exit) => {
    const text = JSON.stringify({ model: "chat-small", ...body });
    const { code, stdout, stderr } = await explain(
      [...point({ workspace: "demo" }), "--request", "-"],
      {
        stdin: () => Promise.resolve(text),
      },
    );
    expect([code, stdout]).toEqual([exit, ""]);
    expect(stderr).toContain("refused before any decision, with 400");
    expect(
      stderr
        .replace("Unknown field ", "request.")
        .replace("messages must", "request.messages must"),
    ).toContain(found);
  });

  it("notes models and workspaces that the files lack and that a caller may still request", async () => {
    const notes = async (members: object) => (await explained(point(members))).notes;
    expect(await notes({ workspace: "demo", model: "chat-lrge" })).toEqual([
      "there is no route with this name; did you mean `chat-large`?",
    ]);
    // A workspace that a change takes away has an example too.
    expect(await notes({ workspace: "dmeo", model: "chat-large" })).toEqual([
      "there is no workspace with this name; did you mean `demo`?",
    ]);
    expect(await notes({ workspace: "acme-dev", model: "chat-large" })).toEqual([
      expect.stringMatching(
        /^the route exists, but the workspace does not approve it \(routes\.yaml:\d+:\d+\)$/,
      ),
    ]);
    expect(
      await notes({
        workspace: "demo",
        model: "chat-large",
        preferences: { only: ["openai-uss"] },
        key: { labels: ["ue"] },
      }),
    ).toEqual([
      "only names a provider that does not exist; did you mean `openai-us`?",
      "policies do not see one of the key's labels: the vocabulary does not have it; did you mean `eu`?",
    ]);
    const elsewhere = {
      workspace: "demo",
      model: "chat-large",
      preferences: { region: ["eu-wst"] },
      key: { environment: "prodction" },
    };
    expect(await notes(elsewhere)).toEqual([
      "region names a region that does not exist; did you mean `eu-west`?",
      'policies see the key\'s environment as "other": the vocabulary does not have it; did you mean `production`?',
    ]);
  });

  it("explains a sample of a report alike with and without the members that have defaults", async () => {
    const sample: SampleRequest = {
      workspace: "acme-prod",
      model: "embed-small-eu",
      operation: "embeddings",
      key: { environment: "production", workload: "", labels: ["eu"] },
      needs: [],
      features: [],
      signatureFamilies: [],
      stream: false,
      context: "to_1k",
      maxOutput: "unspecified",
      reasoningEffort: "unspecified",
      dimensions: 512,
      preferences: null,
      time: { day: "weekend", hour: "evening" },
    };
    const [, ...printed] = explainArguments(sample);
    const explanation = await explained(printed);
    expect(explanation).toEqual(await explained(["--point", JSON.stringify(sample)]));
    expect(explanation).toMatchObject({
      outcome: "deny",
      denial: { reason_code: "DIMENSIONS_NOT_APPROVED" },
    });
    // A workspace that head no longer has is an answer too.
    const gone = await explained(["--point", JSON.stringify({ ...sample, workspace: "gone" })]);
    expect(gone).toMatchObject({ denial: { reason_code: "model_not_found" } });
  });

  it("prints the diagnostics of files with errors, and no answer", async () => {
    const { path, write } = workplace();
    write("routes.yaml", "version: 1\nroutes: 3\n");
    const { code, stdout, stderr } = await explain(point({ workspace: "w", model: "r" }), {
      cwd: path,
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("routes.yaml:2:");
    expect(stderr).toContain("signalbox explain: the files have errors");
  });

  it("output is coloured on a terminal only, and its text is the same", async () => {
    const argv = point({ workspace: "demo", model: "chat-large" });
    const [plain, coloured] = [await explain(argv), await explain(argv, { terminal: true })];
    expect(coloured.stdout).toContain("\u001b[32m");
    // oxlint-disable-next-line no-control-regex -- that is what colours are
    expect(coloured.stdout.replaceAll(/\u001b\[\d+m/g, "")).toBe(plain.stdout);
    const without = await explain(argv, { terminal: true, environment: { NO_COLOR: "1" } });
    expect(without.stdout).toBe(plain.stdout);
  });

  it("the same request gives the same text every time", async () => {
    const argv = point({ workspace: "demo", model: "chat-large" });
    expect(await explain(argv)).toEqual(await explain(argv));
  });
});
