import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";

import { keys } from "../../src/cli/keys.ts";
import { DAY, digestKeyText } from "../../src/keys/key-record.ts";
import { parseKeyText } from "../../src/keys/key-text.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { runCommand, type Ran } from "./command.ts";

const CREATE = [
  "create",
  "--create",
  "--workspace",
  "acme-prod",
  "--scopes",
  "inference,catalogue:read",
  "--owner",
  "group:payments",
];

let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});
const run = (...argv: string[]): Promise<Ran> => runCommand(keys, argv, { cwd });
const listed = async (...argv: string[]): Promise<Record<string, unknown>[]> =>
  JSON.parse((await run("list", "--format", "json", ...argv)).stdout) as Record<string, unknown>[];

describe("keys create", () => {
  it("prints the key once, alone on stdout, and keeps everything but the key", async () => {
    const { code, stdout, stderr } = await run(
      ...CREATE,
      "--expires",
      "90d",
      "--labels",
      "eu,batch",
      "--workload",
      "checkout",
    );
    expect(code).toBe(0);
    const text = stdout.trim();
    expect(stdout).toBe(`${text}\n`);
    const id = parseKeyText(text)?.publicId;
    expect(stderr).toContain(`Made ${id} for acme-prod (inference, catalogue:read)`);
    expect(stderr).not.toContain(text.slice(-39));
    expect(await listed()).toMatchObject([
      {
        id,
        status: "active",
        workspace: "acme-prod",
        environment: "production",
        workload: "checkout",
        labels: ["batch", "eu"],
        created_by: "cli",
        last_used_at: null,
      },
    ]);
    const everything = JSON.stringify(await listed());
    expect(everything).not.toContain(text.slice(-39));
    expect(everything).not.toContain(digestKeyText(text));
  });

  it("prints only the key with --quiet, and one JSON value with --json", async () => {
    const quiet = await run(...CREATE, "--expires", "1h", "--quiet");
    expect(quiet.stderr).toBe("");
    expect(parseKeyText(quiet.stdout.trim())).not.toBeNull();
    const json = JSON.parse(
      (await run(...CREATE, "--expires", "1h", "--key-environment", "staging", "--format", "json"))
        .stdout,
    ) as Record<string, string>;
    expect(parseKeyText(json.key ?? "")).toEqual({
      publicId: json.id,
      environment: "staging",
    });
  });

  it("accepts limits and a permission to exchange, shows them, and rotation keeps them", async () => {
    const grants = [
      ..."--exchange 10m --exchange-operations embeddings,chat.completions --exchange-origins https://app.example.com".split(
        " ",
      ),
      ..."--requests-per-minute 60 --tokens-per-minute 9000 --concurrency 3 --budget-usd 12.5 --budget-per week --budget-time-zone Europe/Berlin".split(
        " ",
      ),
    ];
    const created = await run(...CREATE, "--expires", "90d", ...grants, "--format", "json");
    const { id } = JSON.parse(created.stdout) as { id: string };
    const expected = {
      exchange: {
        maximum_lifetime: 600,
        operations: ["chat.completions", "embeddings"],
        routes: null,
        origins: ["https://app.example.com"],
      },
      limits: {
        requests_per_minute: 60,
        tokens_per_minute: 9000,
        concurrency: 3,
        budget: { usd: 12.5, per: "week", time_zone: "Europe/Berlin" },
      },
    };
    expect(await listed()).toMatchObject([expected]);
    const { stdout } = await run("list");
    expect(stdout).toContain(
      "60 requests/min, 9000 tokens/min, 3 at once, 12.5 USD/week Europe/Berlin",
    );
    expect(stdout).toContain("600s");
    await run("rotate", id);
    expect(await listed()).toMatchObject([expected, expected]);
  });

  it.each([
    ["--exchange 16m", "--exchange: give whole seconds from 60 to 900"],
    ["--exchange soon", "--exchange: give a duration"],
    ["--exchange-routes r", "--exchange-routes: needs --exchange"],
    [
      "--exchange 10m --exchange-operations models",
      "--exchange-operations: give one or more of chat.completions",
    ],
    [
      "--exchange 10m --exchange-origins https://a.example/path",
      "--exchange-origins: give 1 to 32 origins",
    ],
    ["--exchange 10m --exchange-routes ,", "--exchange-routes: give 1 to 256"],
    ["--requests-per-minute 0", "--requests-per-minute: give a whole number"],
    ["--concurrency 1000001", "--concurrency: give a whole number from 1 to 1000000"],
    [
      "--budget-usd 5 --budget-per day --budget-time-zone Mars/Olympus",
      "--budget-time-zone: give a name of the IANA database",
    ],
    ["--budget-time-zone UTC", "--budget-usd: is missing"],
    ["--budget-usd 5", "--budget-per: is missing"],
    ["--budget-per day", "--budget-usd: is missing"],
    ["--budget-usd 0 --budget-per day", "--budget-usd: give US dollars from 0.000001"],
  ])("refuses %s", async (flags, message) => {
    const { code, stdout, stderr } = await run(...CREATE, "--expires", "90d", ...flags.split(" "));
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(message);
  });

  it("accepts durations and times", async () => {
    const before = Date.now();
    await run(...CREATE, "--expires", "90d");
    const at = new Date(before + 30 * DAY).toISOString();
    await run(...CREATE, "--expires", at);
    const expiries = (await listed())
      .map((key) => Date.parse(String(key.expires_at)) - before)
      .toSorted((a, b) => a - b);
    expect(expiries[0]).toBe(30 * DAY);
    expect(expiries[1]).toBeGreaterThanOrEqual(90 * DAY);
    expect(expiries[1]).toBeLessThan(90 * DAY + 60_000);
  });

  it.each([
    [["--expires", "90d", "--workspace", "a b"], "--workspace: give 1 to 64"],
    [
      ["--expires", "90d", "--scopes", "inference,admin"],
      "--scopes: must be one of inference, catalogue:read",
    ],
    [["--expires", "90d", "--scopes", ","], "--scopes: give one or more"],
    [["--expires", "90d", "--owner", "canary text"], "--owner: give the owner"],
    [["--expires", "90d", "--key-environment", "Canary"], "--key-environment: give 1 to 16"],
    [["--expires", "canary"], "--expires: give a duration such as 90d, or an RFC 3339 time"],
    [["--expires", "2026-13-45T00:00:00Z"], "--expires: give a duration"],
    [["--expires", "2027-01-01"], "--expires: give a duration"],
    [["--expires", "401d"], "--expires: give a time at most 400 days from now"],
    [["--expires", "0"], "--expires: give a time in the future"],
    [[], "--expires: is missing"],
    [["--expires"], "--expires: needs a value"],
    [["--expires", "1d", "--canary"], "--canary: there is no such flag"],
    [["--expires", "1d", "--overlap", "1h"], "--overlap: has no effect on keys create"],
    [["--expires", "1d", "--quiet=yes"], "--quiet: takes no value"],
    [["--expires", "1d", "sbx_canary"], "takes no arguments, only flags\n"],
  ])("refuses %j with exit 2, naming the flag, and no key", async (argv, complaint) => {
    const { code, stdout, stderr } = await run(...CREATE, ...argv);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`signalbox keys: ${complaint}`);
    expect(stderr).not.toContain("sbx_canary");
    expect(existsSync(join(cwd, ".signalbox"))).toBe(false);
  });
});

describe("keys list, revoke and rotate", () => {
  const create = async (...argv: string[]): Promise<string> =>
    (await run(...CREATE, "--expires", "90d", "--quiet", ...argv)).stdout.trim();
  const idOf = (text: string): string => parseKeyText(text)?.publicId ?? "";

  it("lists as a table, narrowed by workspace", async () => {
    const text = await create();
    await create("--workspace", "beta");
    const lines = (await run("list", "--workspace", "acme-prod")).stdout.split("\n");
    expect(lines[0]).toMatch(/^ID +NAME +OWNER +STATUS +WORKSPACE/);
    expect(lines[1]).toMatch(
      new RegExp(
        `^${idOf(text)} +- +group:payments +active +acme-prod +production +inference,catalogue:read +- `,
      ),
    );
    expect(lines).toHaveLength(3);
    await create("--workspace", "gamma", "--labels", "eu,tools", "--name", "Nightly-1");
    expect((await run("list", "--workspace", "gamma")).stdout).toMatch(
      /LABELS[\s\S]* Nightly-1 +group:payments .* eu,tools /,
    );
    expect((await run("list", "--workspace", "none")).stdout).toBe("No keys.\n");
  });

  it("revokes by id or by the key itself", async () => {
    const [first, second] = [await create(), await create()];
    expect((await run("revoke", idOf(first))).code).toBe(0);
    const { code, stderr } = await run("revoke", second);
    expect(code).toBe(0);
    expect(stderr).toContain(`Revoked ${idOf(second)}`);
    expect((await listed()).map((key) => key.status)).toEqual(["revoked", "revoked"]);
  });

  it("rotates with an overlap and prints the new key alone", async () => {
    const old = await create();
    const before = Date.now();
    const { code, stdout, stderr } = await run("rotate", idOf(old), "--overlap", "1h");
    expect(code).toBe(0);
    expect(stderr).toContain(`It replaces ${idOf(old)}, which works until`);
    const all = await listed();
    const find = (text: string) => all.find((key) => key.id === idOf(text));
    expect(find(stdout.trim())).toMatchObject({
      rotated_from: idOf(old),
      workspace: "acme-prod",
      status: "active",
    });
    const rest = Date.parse(String(find(old)?.expires_at)) - before;
    expect(rest).toBeGreaterThanOrEqual(3_600_000);
    expect(rest).toBeLessThan(3_660_000);
    const again = await run("rotate", idOf(old), "--overlap", "0");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain(
      `signalbox keys: ${idOf(old)} has been rotated already: ${idOf(stdout.trim())} replaced it, and it works until`,
    );
    const next = await run("rotate", idOf(stdout.trim()), "--overlap", "0");
    expect(next.code).toBe(0);
    expect((await run("rotate", idOf(stdout.trim()))).stderr).toContain("is revoked or expired");
    expect(await listed()).toHaveLength(3);
  });

  it("fail with exit 1 for an unknown key and a missing database, and create none", async () => {
    const missing = await run("list");
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("there is no database at");
    expect(existsSync(join(cwd, ".signalbox"))).toBe(false);
    await create();
    for (const command of ["revoke", "rotate"]) {
      const { code, stderr } = await run(command, "unknown");
      expect([code, stderr]).toEqual([
        1,
        "signalbox keys: there is no such key in this database; see: signalbox keys list\n",
      ]);
    }
  });

  it.each([
    [[], "command: give one of create, list, revoke, rotate"],
    [["steal"], "command: give one of"],
    [["revoke"], "ID: is missing"],
    [["revoke", "a", "b"], "ID: give exactly one"],
    [["rotate", "a", "--overlap", "soon"], "--overlap: give a duration"],
    [["revoke", "a", "--scopes", "b"], "--scopes: has no effect on keys revoke"],
  ])("refuses %j with exit 2", async (argv, complaint) => {
    const { code, stderr } = await run(...argv);
    expect(code).toBe(2);
    expect(stderr).toContain(complaint);
  });

  it("open the database of --database, else of SIGNALBOX_DATABASE", async () => {
    const io = { cwd, environment: { SIGNALBOX_DATABASE: "by-environment.db" } };
    await runCommand(keys, [...CREATE, "--expires", "1d"], io);
    await runCommand(keys, [...CREATE, "--expires", "1d", "--database", "by-flag.db"], io);
    expect(
      ["by-environment.db", "by-flag.db", ".signalbox"].map((name) => existsSync(join(cwd, name))),
    ).toEqual([true, true, false]);
  });

  it("prints help", async () => {
    const { code, stdout } = await run("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("Usage: signalbox keys");
  });
});

describe("keys create beside a configuration", () => {
  const CONFIGURATION = `version: 1
vocabulary: { environments: [production, staging], labels: [eu, tools-approved], owners: [o, "group:pay"] }
regions: { eu: [eu] }
providers: { one: { preset: openai, region: eu, trains_on_data: false } }
models: { m: { operations: [generate], capabilities: [] } }
endpoints: [{ id: m-one, model: m, provider: one, upstream_model: m }]
routes: { r: { primary: m-one } }
workspaces: { search: { tier: standard, approve: { routes: [r], regions: [eu], providers: [one] } } }
`;
  const create = (workspace: string, ...more: string[]): Promise<Ran> =>
    run(
      "create",
      "--workspace",
      workspace,
      "--scopes",
      "inference",
      ...(more.includes("--owner") ? [] : ["--owner", "o"]),
      "--expires",
      "1d",
      ...more,
    );
  beforeEach(() => {
    writeFileSync(join(cwd, "routes.yaml"), CONFIGURATION);
  });

  it("refuses a workspace or a label that routes.yaml does not declare, with the nearest one", async () => {
    const workspace = await create("serach", "--create");
    expect(workspace).toMatchObject({ code: 2, stdout: "" });
    expect(workspace.stderr).toContain(
      "--workspace: routes.yaml has no workspace of that name; did you mean search?",
    );
    const label = await create("search", "--create", "--labels", "eu,tools-aproved");
    expect(label).toMatchObject({ code: 2, stdout: "" });
    expect(label.stderr).toContain(
      "--labels: vocabulary.labels of routes.yaml does not declare one of them",
    );
    expect(label.stderr).toContain("did you mean tools-approved?");
    expect(existsSync(join(cwd, ".signalbox"))).toBe(false);
    expect(await create("search", "--create", "--labels", "eu,tools-approved")).toMatchObject({
      code: 0,
    });
  });

  it("refuses a token's route that routes.yaml does not have, with the nearest one", async () => {
    const refused = await create(
      "search",
      "--create",
      "--exchange",
      "10m",
      "--exchange-routes",
      "r,rr",
    );
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(
      "--exchange-routes: routes of routes.yaml does not declare one of them",
    );
    expect(
      await create("search", "--create", "--exchange", "10m", "--exchange-routes", "r"),
    ).toMatchObject({
      code: 0,
    });
  });

  it("refuses an environment outside a declared list, and accepts any workload without a list", async () => {
    const refused = await create("search", "--create", "--key-environment", "prodution");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(
      "--key-environment: vocabulary.environments of routes.yaml does not declare it",
    );
    expect(refused.stderr).toContain("did you mean production?");
    expect(
      await create("search", "--create", "--key-environment", "staging", "--workload", "w"),
    ).toMatchObject({
      code: 0,
    });
  });

  it("refuses an owner outside the declared list, with the nearest one", async () => {
    const refused = await create("search", "--create", "--owner", "group:pey");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(
      "--owner: vocabulary.owners of routes.yaml does not declare it; did you mean group:pay?",
    );
    expect(await create("search", "--create", "--owner", "group:pay")).toMatchObject({ code: 0 });
  });

  it("accepts any names for a named database, unless a configuration is named too", async () => {
    const named = ["--database", join(cwd, "other.db")];
    expect(await create("serach", ...named)).toMatchObject({ code: 0 });
    expect(await create("serach", ...named, "--config", "routes.yaml")).toMatchObject({ code: 2 });
    const overlay = await create("search", ...named, "--environment", "staging");
    expect(overlay).toMatchObject({ code: 2, stdout: "" });
    expect(overlay.stderr).toContain("is set with --key-environment");
  });

  it("creates no database in a folder without one unless --create is given", async () => {
    const refused = await create("search");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(
      `there is no database at ${join(cwd, ".signalbox", "signalbox.db")}`,
    );
    expect(refused.stderr).toContain("--create");
    expect(existsSync(join(cwd, ".signalbox"))).toBe(false);
    expect(await create("search", "--create")).toMatchObject({ code: 0 });
    expect(await create("search")).toMatchObject({ code: 0 });
  });
});
