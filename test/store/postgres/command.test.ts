import { createServer } from "node:net";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { evidence } from "../../../src/cli/evidence/evidence.ts";
import { limits } from "../../../src/cli/limits.ts";
import { summary } from "../../../src/cli/summary.ts";
import { keys } from "../../../src/cli/keys.ts";
import { parseServeOptions } from "../../../src/cli/serve/options.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { runCommand } from "../../keys/command.ts";
import { decisionRecord, recordDecision } from "../records.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

const CREATE = [
  "create",
  "--workspace",
  "acme",
  "--scopes",
  "inference",
  "--owner",
  "group:a",
  "--expires",
  "1d",
];
const URL_A = "postgres://user:a-secret@one.example/base";
const URL_B = "postgres://user:a-secret@two.example/base";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe("the database of a command", () => {
  it.each([
    [[], { SIGNALBOX_DATABASE_URL: URL_A }, URL_A],
    [["--database", URL_A], {}, URL_A],
    [["--database", URL_A], { SIGNALBOX_DATABASE_URL: URL_A }, URL_A],
    [["--database", URL_A], { SIGNALBOX_DATABASE: "a.db" }, URL_A],
    [["--database", "a.db"], { SIGNALBOX_DATABASE_URL: "" }, "/w/a.db"],
    [[], { SIGNALBOX_DATABASE: "b.db" }, "/w/b.db"],
    [[], {}, "/w/.signalbox/signalbox.db"],
  ])("%j with %j opens %s", (argv, environment, database) => {
    const io = {
      cwd: "/w",
      environment,
      stdout: () => {},
      stderr: () => {},
      signal: new AbortController().signal,
    };
    expect(parseServeOptions(argv, io).database).toBe(database);
  });

  it.each([
    [["--database", "a.db"], { SIGNALBOX_DATABASE_URL: URL_A }, "names another database"],
    [["--database", URL_B], { SIGNALBOX_DATABASE_URL: URL_A }, "names another database"],
    [[], { SIGNALBOX_DATABASE_URL: URL_A, SIGNALBOX_DATABASE: "a.db" }, "unset one of the two"],
    [[], { SIGNALBOX_DATABASE_URL: "a-secret.db" }, "must begin with postgres://"],
    [[], { SIGNALBOX_DATABASE_URL: `${URL_A}?sslmode=perhaps` }, "sslmode: give"],
  ])("%j with %j is refused, without repeating the URL", async (argv, environment, complaint) => {
    const { code, stderr } = await runCommand(keys, ["list", ...argv], {
      cwd: temporaryFolder(),
      environment,
    });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(complaint);
    expect(stderr).not.toContain("a-secret");
  });

  it("reports the failure of an unreachable server, without its URL", async () => {
    const listener = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    onTestFinished(() => void listener.close());
    await once(listener, "listening");
    const address = listener.address();
    const port = typeof address === "object" ? address?.port : 0;
    for (const host of [`127.0.0.1:${port}`, "127.0.0.1:1"]) {
      const environment = { SIGNALBOX_DATABASE_URL: `postgres://user:a-secret@${host}/base` };
      const { code, stderr } = await runCommand(keys, ["list"], {
        cwd: temporaryFolder(),
        environment,
      });
      expect(code).toBe(1);
      expect(stderr).toContain("the database could not be opened: PostgreSQL failed: ");
      expect(stderr).not.toContain("a-secret");
      expect(stderr).not.toContain("127.0.0.1");
    }
  });
});

describe.skipIf(NO_POSTGRES !== null)(`commands over PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  }, 60_000);
  afterAll(() => server.close());

  it("create, list and revoke keys, and read evidence; no file is created", async () => {
    const url = await server.database();
    const io = { cwd: temporaryFolder(), environment: { SIGNALBOX_DATABASE_URL: url } };
    expect(await runCommand(keys, ["list"], io)).toMatchObject({ code: 1 });
    expect((await runCommand(keys, CREATE, io)).code).toBe(0);
    const listed = JSON.parse(
      (await runCommand(keys, ["list", "--format", "json"], io)).stdout,
    ) as { id: string }[];
    expect(listed).toMatchObject([{ workspace: "acme", status: "active" }]);
    expect((await runCommand(keys, ["revoke", listed[0]?.id ?? ""], io)).code).toBe(0);
    const store = await openPostgresStore({ url });
    expect((await store.keys.list())[0]?.status).toBe("revoked");
    await recordDecision(store.evidence, decisionRecord("req_1"));
    await store.close();
    expect((await runCommand(evidence, ["tail"], io)).stdout).toContain("req_1");
    expect(await runCommand(evidence, ["verify"], io)).toMatchObject({ code: 0 });
    const at = decisionRecord("req_1").at;
    const window = [
      "--start",
      new Date(at - 3_600_000).toISOString(),
      "--end",
      new Date(at + 3_600_000).toISOString(),
    ];
    const requested = await runCommand(
      summary,
      ["--workspace", "acme-prod", "--format", "json", ...window],
      io,
    );
    expect(requested).toMatchObject({ code: 0, stderr: "" });
    expect(requested.stdout).toMatch(/"requests": ?1\b/);
    const routes = join(import.meta.dirname, "../../../routes.yaml");
    expect(await runCommand(limits, ["--config", routes], io)).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(readdirSync(io.cwd)).toEqual([]);
  });
});
