import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { PLAIN_SAMPLE } from "../../src/simulate/sample-request.ts";
import { freePort } from "../support/ports.ts";
import { startTestServer } from "../support/server.ts";
import { explain, explained, point } from "./explain-command.ts";

describe("signalbox explain, against a server", () => {
  it("prints the server's own answer", async () => {
    const test = await startTestServer();
    const key = await test.key("demo", ["route:simulate"]);
    const environment = { SIGNALBOX_KEY: key };
    const requested = { model: "chat-large", needs: ["tools"] };
    const server = ["--server", test.server.url];
    const time = { day: "weekend", hour: "night" };
    const said = await explained(
      [...point({ ...requested, context: "to_4k", time }), ...server, "--promoted"],
      {
        environment,
      },
    );
    const direct = await fetch(`${test.server.url}/v1/route/simulate?operation=chat.completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "chat-large",
        needs: ["tools"],
        context: "to_4k",
        time,
        promoted: true,
      }),
    });
    const { notes, format, ...rest } = said;
    expect(format).toBe(2);
    expect(notes).toEqual([]);
    expect(rest).toEqual(await direct.json());
    expect((await explain([...point(requested), ...server], { environment })).stdout).toMatch(
      /^ROUTED to gpt-5-us, then gpt-5-eu, then mistral-large-eu\n/,
    );

    // Files and server agree, but for what only either knows.
    const files = await explained(point({ workspace: "demo", ...requested }), {
      cwd: test.folder,
    });
    const served = await explained([...point(requested), ...server], { environment });
    for (const member of [
      "outcome",
      "route",
      "shape",
      "time",
      "table_revision",
      "denial",
      "edits",
    ]) {
      expect(files[member], member).toEqual(served[member]);
    }
  });

  it("decides a request class for the calling key, and notes where its attributes differ", async () => {
    const test = await startTestServer();
    const environment = { SIGNALBOX_KEY: await test.key("demo", ["route:simulate"]) };
    const sample = {
      workspace: "demo",
      model: "claude-sonnet-4-6",
      operation: "messages.count_tokens",
      key: { environment: "production", workload: "other", labels: [] },
      needs: [],
      features: ["count_tokens", "seed"],
      signatureFamilies: [],
      stream: false,
      context: "to_1k",
      maxOutput: "unspecified",
      reasoningEffort: "unspecified",
      dimensions: null,
      preferences: { zdr: true },
      time: { day: "weekday", hour: "night" },
    };
    const ask = (key: object) =>
      explained(["--server", test.server.url, "--point", JSON.stringify({ ...sample, key })], {
        environment,
      });
    const said = await ask(sample.key);
    expect(said).toMatchObject({
      notes: [],
      time: sample.time,
      shape: { features: ["count_tokens", "seed"] },
    });
    expect(said).toMatchObject({ denial: { failed_constraint: "zdr" } });
    const other = await ask({ ...sample.key, environment: "test" });
    expect(other.notes).toEqual([
      expect.stringContaining("has other attributes than the key in --point"),
    ]);
  });

  it("reads a whole request as it does against files", async () => {
    const test = await startTestServer();
    const environment = { SIGNALBOX_KEY: await test.key("demo", ["route:simulate"]) };
    const stdin = () =>
      Promise.resolve(
        JSON.stringify({
          model: "chat-small",
          messages: [{ role: "user", content: "x" }],
          frobnicate: 1,
        }),
      );
    const { code, stderr } = await explain(
      [...point({}), "--request", "-", "--server", `${test.server.url}/`],
      {
        environment,
        stdin,
      },
    );
    expect(code).toBe(1);
    expect(stderr).toContain("refused before any decision, with 400 unknown_field");
  });

  it("names the reason where a caller gets no answer", async () => {
    const test = await startTestServer();
    const requested = [...point({ model: "chat-large" }), "--server"];
    const reported = async (key: string, url = test.server.url, ...more: readonly string[]) => {
      const { code, stdout, stderr } = await explain([...requested, url, ...more], {
        environment: { SIGNALBOX_KEY: key },
      });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).not.toContain(key === "" ? "\0" : key);
      return stderr;
    };
    const key = await test.key("demo", ["route:simulate"]);
    expect(await reported("")).toContain("SIGNALBOX_KEY: is not set");
    expect(await reported("a\nb")).toContain("SIGNALBOX_KEY: holds characters that no key has");
    expect(await reported("sbx_wrong")).toContain(
      "SIGNALBOX_KEY: the server does not accept the key",
    );
    expect(await reported(await test.key("demo", ["inference"]))).toContain(
      "SIGNALBOX_KEY: The service key lacks the scope route:simulate",
    );
    expect(await reported(key, `http://127.0.0.1:${await freePort()}`)).toContain(
      "--server: cannot be reached (ECONNREFUSED)",
    );
    expect(await reported(key, `${test.server.url}/proxy`)).toContain(
      "--server: has no POST /v1/route/simulate (404)",
    );
    const time = { day: "weekday", hour: "night" };
    const sample = {
      ...PLAIN_SAMPLE,
      workspace: "acme-prod",
      model: "r",
      operation: "rerank",
      time,
    };
    const other = await explain(["--server", test.server.url, "--point", JSON.stringify(sample)], {
      environment: { SIGNALBOX_KEY: key },
    });
    expect(other.stderr).toContain("belongs to another workspace than the request of --point");
  });

  it.each<[string, number, string, string]>([
    [
      "an older server",
      400,
      '{"error":{"code":"unknown_field","param":"context","message":"x"}}',
      "is older than this command and does not support context",
    ],
    ["another program", 200, "<html>", "the answer is not one of Signalbox"],
    ["another program's JSON", 200, '{"object":"list"}', "the answer is not one of Signalbox"],
    ["a server in trouble", 503, "{}", "--server: answered with 503"],
    ["a way elsewhere", 302, "", "--server: sends the call elsewhere"],
    [
      "a message with controls",
      400,
      '{"error":{"code":"x","message":"a\\u001b[2Jb"}}',
      "400 x: a\uFFFD[2Jb",
    ],
  ])("reports %s as an error, and prints no answer", async (_, status, body, message) => {
    const server = createServer((_incoming, response) => {
      response.writeHead(status, status === 302 ? { location: "http://127.0.0.1:1/" } : {});
      response.end(body);
    });
    await new Promise<void>((listening) => {
      server.listen(0, "127.0.0.1", listening);
    });
    onTestFinished(() => void server.close());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
    const { port } = server.address() as AddressInfo;
    const flags = [
      ...point({ operation: "rerank", model: "r", context: "to_1k" }),
      "--server",
      `http://127.0.0.1:${port}`,
    ];
    const { code, stdout, stderr } = await explain(flags, {
      environment: { SIGNALBOX_KEY: "sbx_key" },
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
  });

  it.each(["ftp://x", "127.0.0.1:8080", "http://user:pass@127.0.0.1"])(
    "refuses an address such as %s",
    async (url) => {
      const { code, stderr } = await explain([
        ...point({ operation: "rerank", model: "r" }),
        "--server",
        url,
      ]);
      expect(code).toBe(2);
      expect(stderr).toContain("--server: must");
      expect(stderr).not.toContain("pass");
    },
  );
});
