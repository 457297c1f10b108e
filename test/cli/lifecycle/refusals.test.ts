import { describe, expect, it } from "vitest";
import { fakeServer, KEY, view, type Reply } from "./fake-server.ts";

const GET = "GET /v1/policies/eu-residency";
const POST = "POST /v1/policies/eu-residency/promotions";
const failed = (status: number, code: string, more: object = {}): Reply => ({
  status,
  body: { error: { code, message: `Said by the server: ${code}.`, fix: "Show ID.", ...more } },
});

describe("a server that refuses", () => {
  it.each<[string, Reply, string]>([
    ["401", failed(401, "invalid_key"), "SIGNALBOX_KEY: the server does not accept the key"],
    [
      "403",
      failed(403, "insufficient_scope"),
      "SIGNALBOX_KEY: Said by the server: insufficient_scope. Show eu-residency.",
    ],
    [
      "404 of the policy",
      failed(404, "policy_not_found"),
      "answered with 404, policy_not_found: Said by the server",
    ],
    ["404 of the path", failed(404, "unknown_endpoint"), "--server: has no /v1/policies (404)"],
    [
      "404 without JSON",
      { status: 404, body: "<h1>nginx</h1>" },
      "--server: has no /v1/policies (404)",
    ],
    [
      "429",
      failed(429, "rate_limited"),
      "--server: answered with 429, rate_limited: Said by the server",
    ],
    [
      "503",
      failed(503, "store_unavailable"),
      "--server: answered with 503, store_unavailable: Said by the server",
    ],
    [
      "500",
      failed(500, "internal_error"),
      "--server: answered with 500, internal_error: Said by the server",
    ],
    ["502 of a proxy", { status: 502, body: "Bad Gateway" }, "--server: answered with 502\n"],
    [
      "a redirection",
      { status: 302, body: "", headers: { location: "http://127.0.0.1:1/" } },
      "a key is not sent after it",
    ],
    ["200 without JSON", { body: "<h1>Hello</h1>" }, "--server: the answer is not one"],
    ["200 with a list", { body: [] }, "--server: the answer is not one"],
    ["200 with something else", { body: { object: "key" } }, "--server: the answer is not one"],
    [
      "an etag that would end a header",
      { body: view({ etag: '"a"\r\nx: y' }) },
      "is not one of Signalbox",
    ],
    ["a weak etag", { body: view({ etag: 'W/"a"' }) }, "is not one of Signalbox"],
    [
      "a digest that is none",
      { body: view({ files: { revision: "r1", digest: "$(id)" } }) },
      "is not one of Signalbox",
    ],
    [
      "a revision that is none",
      { body: view({ files: { revision: "1", digest: "ab" } }) },
      "the answer is not one",
    ],
    [
      "an answer without an end",
      { body: `{"a":"${"x".repeat(8_100_000)}"}` },
      "is not one of Signalbox",
    ],
    ["half an answer", { body: '{"object":"policy",' }, "is not one of Signalbox"],
  ])("is reported in a sentence: %s", async (_name, reply, reported) => {
    const server = await fakeServer({ [GET]: reply });
    const { code, stdout, stderr } = await server.run(["show", "eu-residency"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(reported);
    expect(stderr).not.toContain(KEY);
    expect(server.requested).toHaveLength(1);
  });

  it.each<[string, Reply, number, string]>([
    ["401", failed(401, "invalid_key"), 1, "SIGNALBOX_KEY: the server does not accept the key"],
    [
      "403",
      failed(403, "eclipse"),
      1,
      "SIGNALBOX_KEY: Said by the server: eclipse. Show eu-residency.",
    ],
    [
      "409",
      failed(409, "eclipse"),
      3,
      "promote: Said by the server: eclipse. Show eu-residency. Nothing was done.",
    ],
    [
      "412 without more",
      failed(412, "eclipse"),
      3,
      "Said by the server: eclipse. Show eu-residency. Nothing was done.",
    ],
    [
      "409 of a server without fixes",
      failed(409, "held", { fix: undefined }),
      3,
      "server: held. Nothing was done.",
    ],
    [
      "503",
      failed(503, "eclipse"),
      1,
      "--server: answered with 503, eclipse: Said by the server: eclipse. Show",
    ],
    ["200 without a policy", { body: {} }, 1, "the change may or may not have been made"],
    [
      "200 that breaks off",
      { body: '{"object":"po' },
      1,
      "the change may or may not have been made",
    ],
    [
      "a redirection",
      { status: 307, body: "", headers: { location: "/elsewhere" } },
      1,
      "a key is not sent after it",
    ],
  ])(
    "is reported in a sentence where something was to change: %s",
    async (_name, reply, exit, reported) => {
      const server = await fakeServer({ [GET]: { body: view() }, [POST]: reply });
      const { code, stderr } = await server.run(["promote", "eu-residency", "--format", "json"]);
      expect(code).toBe(exit);
      expect(stderr).toContain(reported);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(server.requested).toHaveLength(2);
    },
  );

  it.each(["code", "message"])("the %s of an error does not move the cursor", async (member) => {
    const error = {
      code: "a",
      message: "b",
      [member]: `\u001b[2J\r\n::error::${"x".repeat(2_000)}`,
    };
    const server = await fakeServer({ [GET]: { status: 418, body: { error } } });
    const { stderr } = await server.run(["show", "eu-residency"]);
    expect(stderr.slice(0, -1)).not.toMatch(/\p{Cc}/u);
    expect(stderr.length).toBeLessThan(800);
  });

  it("a change is reported as uncertain where the server hangs up", async () => {
    const server = await fakeServer({
      [GET]: { body: view() },
      [POST]: { body: "x", headers: { "transfer-encoding": "chunked", "content-length": "1" } },
    });
    const { code, stderr } = await server.run(["promote", "eu-residency"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /the change may or may not have been made; check: signalbox policy show eu-residency/,
    );
  });

  it("an unreachable server is reported with the flag that names it", async () => {
    const server = await fakeServer({});
    const { code, stderr } = await server.run([
      "promote",
      "eu-residency",
      "--server",
      "http://127.0.0.1:1",
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain("--server: cannot be reached");
  });
});

describe("a command line that cannot be used", () => {
  const commands = [
    "list",
    "show",
    "diff",
    "simulate",
    "approve",
    "promote",
    "rollback",
    "withdraw",
    "release",
    "history",
  ];

  it.each(commands)(
    "%s --help prints its flags and exit codes, and prompts for nothing",
    async (command) => {
      const server = await fakeServer({});
      const { code, stdout, stderr } = await server.run([command, "--help"], { environment: {} });
      expect([code, stderr, server.requested]).toEqual([0, "", []]);
      expect(stdout).toMatch(new RegExp(`^Usage: signalbox policy ${command} `));
      expect(stdout).toMatch(/\nExit codes: 0 /);
      expect(stdout.includes("3 not done")).toBe(
        ["simulate", "approve", "promote", "rollback", "withdraw", "release"].includes(command),
      );
      for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(132);
    },
  );

  it("policy --help names every command, apart from those of the files", async () => {
    const { stdout } = await (await fakeServer({})).run(["--help"]);
    const [, files = "", server = ""] =
      /Commands for policy files\n([^]*)Commands for a running server[^\n]*\n([^]*)\n\n/.exec(
        stdout,
      ) ?? [];
    const names = (text: string) => [...text.matchAll(/^ {2}(\w+)/gm)].map(([, name = ""]) => name);
    expect(names(files)).toEqual(["new", "check", "test", "fmt", "verify"]);
    expect(names(server).toSorted()).toEqual(commands.toSorted());
  });

  it.each(commands.filter((command) => command !== "list"))(
    "%s requires exactly one policy name",
    async (command) => {
      const server = await fakeServer({});
      for (const argv of [
        [],
        ["a", "b"],
        [".."],
        ["a/b"],
        ["a?b"],
        ["A"],
        ["eu-residency.rego"],
        [""],
        ["a".repeat(300)],
      ]) {
        const { code, stderr } = await server.run([command, ...argv]);
        expect([code, stderr.startsWith(`signalbox policy ${command}: ID: `)], argv.join()).toEqual(
          [2, true],
        );
      }
      expect(server.requested).toEqual([]);
    },
  );

  it.each<[readonly string[], Record<string, string>, number, string]>([
    [
      ["list"],
      {},
      1,
      "SIGNALBOX_KEY: is not set; put a key with the scope governance:read or operations:manage there",
    ],
    [["list"], { SIGNALBOX_KEY: "a\nb" }, 1, "SIGNALBOX_KEY: holds characters that no key has"],
    [["list", "--server", "here"], { SIGNALBOX_KEY: "k" }, 2, "--server: must be a URL"],
    [
      ["list", "--server", "http://u:p@h"],
      { SIGNALBOX_KEY: "k" },
      2,
      "--server: must not hold a credential",
    ],
    [["list", "eu"], { SIGNALBOX_KEY: "k" }, 2, "takes no arguments, only flags"],
    [
      ["show", "eu", "--frobnicate"],
      { SIGNALBOX_KEY: "k" },
      2,
      "--frobnicate: there is no such flag",
    ],
    [
      ["promote", "eu", "--expect-candidate", "4"],
      { SIGNALBOX_KEY: "k" },
      2,
      "--expect-candidate: must be a revision",
    ],
    [["frobnicate"], {}, 2, "give one of new, check, test, fmt, verify, list"],
  ])("%j is refused with its reason", async (argv, environment, exit, reported) => {
    const { code, stderr } = await (await fakeServer({})).run(argv, { environment });
    expect(code).toBe(exit);
    expect(stderr).toContain(reported);
  });
});
