import { once } from "node:events";
import { createServer as createHttps } from "node:https";
import { createServer as createHttp, type IncomingMessage } from "node:http";
import { connect, type AddressInfo, type Server } from "node:net";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, it } from "vitest";
import { connectionPools } from "../../src/dispatch/connections.ts";
import { awsKeysFrom } from "../../src/dispatch/credentials/authorize.ts";
import { proxiedFetch, proxyFromEnvironment } from "../../src/dispatch/egress-proxy.ts";
import { failureOfTransport } from "../../src/dispatch/failures.ts";
import { jsonFetcher } from "../../src/dispatch/fetch-json.ts";
import { createOidcClient } from "../../src/keys/oidc-client.ts";
import { whenFileEnds } from "../support/file-end.ts";
import { startTestServer } from "../support/server.ts";
import { makeCertificate, NO_OPENSSL } from "../running/certificate.ts";
import {
  answerJson,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { provider, table } from "../support/table.ts";

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  whenFileEnds(async () => void server.close());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  return (server.address() as AddressInfo).port;
}

/** A CONNECT proxy that leads every name to `target` on this machine. */
async function startProxy(target: number, status = 200) {
  const seen: { url: string; authorization: string | undefined }[] = [];
  const server = createHttp();
  server.on("connect", (request: IncomingMessage, socket) => {
    seen.push({ url: request.url ?? "", authorization: request.headers["proxy-authorization"] });
    if (status !== 200)
      return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const onward = connect(target, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  return { port: await portOf(server), seen };
}

/** Status and body of one call, or the kind of its failure. */
async function call(
  baseUrl: string,
  environment: Record<string, string>,
  fresh = false,
  isPrivate = true,
) {
  const pools = connectionPools(undefined, proxyFromEnvironment(environment));
  const { network: _, ...plain } = provider("p", { baseUrl });
  const one = isPrivate ? { ...plain, network: "private" as const } : plain;
  const { connections } = pools.acquire(table({ providers: [one] }), () => ({
    secret: null,
    simulatedOrigin: null,
  }));
  const { dispatcher, freshDispatcher } = connections.get("p") ?? {};
  try {
    const answer = await (fresh ? freshDispatcher : dispatcher)?.request({
      path: "/x",
      method: "POST",
      body: "{}",
    });
    return `${answer?.statusCode} ${await answer?.body.text()}`;
  } catch (error) {
    return failureOfTransport(error, false).kind;
  } finally {
    await pools.destroy();
  }
}

const provided = createHttp((_, response) => response.end('{"a":1}'));
const plainPort = await portOf(provided);

describe("calls through a forward proxy", () => {
  it.skipIf(NO_OPENSSL !== null)(
    "reach a TLS provider through CONNECT, kept and fresh connections alike",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "sbx-proxy-"));
      const { cert, key } = makeCertificate(folder, "provider");
      setDefaultCACertificates([...getCACertificates(), readFileSync(cert, "utf8")]);
      const secure = createHttps(
        { cert: readFileSync(cert), key: readFileSync(key) },
        (_, response) => response.end("ok"),
      );
      const proxy = await startProxy(await portOf(secure));
      const environment = { HTTPS_PROXY: `http://user:p%40ss@127.0.0.1:${proxy.port}` };
      expect(await call("https://127.0.0.1:1", environment)).toBe("200 ok");
      expect(await call("https://127.0.0.1:1", environment, true)).toBe("200 ok");
      const authorization = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;
      expect(proxy.seen).toEqual([1, 2].map(() => ({ url: "127.0.0.1:1", authorization })));
    },
  );

  it("reach a plain http provider and the documents of issuers too", async () => {
    const proxy = await startProxy(plainPort);
    const environment = { http_proxy: `127.0.0.1:${proxy.port}` };
    expect(await call("http://127.0.0.1:1", environment)).toBe('200 {"a":1}');
    const fetchJson = jsonFetcher(proxyFromEnvironment(environment));
    expect(await fetchJson("http://issuer.example/keys", "public")).toEqual({ json: { a: 1 } });
    expect(proxy.seen.map(({ url }) => url)).toEqual(["127.0.0.1:1", "issuer.example:80"]);
  });

  it("reach the token service of AWS and the provider of sign-ins", async () => {
    const proxy = await startProxy(plainPort);
    const findProxy = proxyFromEnvironment({ HTTP_PROXY: `http://127.0.0.1:${proxy.port}` });
    const signing = {
      kind: "aws_sigv4",
      service: "bedrock",
      region: "eu-west-1",
      profile: "default",
    } as const;
    const role = {
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/models",
      AWS_WEB_IDENTITY_TOKEN_FILE: import.meta.filename,
    };
    const keys = awsKeysFrom(
      { ...signing, credentials: "web_identity", onMissing: "fail" },
      { ...role, AWS_ENDPOINT_URL_STS: "https://sts.example" },
      1_000,
      findProxy,
    );
    await expect(keys()).rejects.toThrow(/./);
    const settings = {
      label: "P",
      clientId: "c",
      clientSecret: null,
      scopes: [],
      groupsClaim: "groups",
      nameClaim: null,
    };
    const throughProxy = findProxy === null ? undefined : proxiedFetch(findProxy, 1_000);
    const client = createOidcClient(
      { ...settings, issuer: "https://people.example" },
      null,
      throughProxy,
    );
    expect(await client.begin("http://127.0.0.1/callback")).toEqual({ fault: "unavailable" });
    expect(new Set(proxy.seen.map(({ url }) => url))).toEqual(
      new Set(["sts.example:443", "people.example:443"]),
    );
  });

  it("do not use it for hosts of NO_PROXY", async () => {
    const proxy = await startProxy(plainPort);
    const environment = {
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      NO_PROXY: "other.example, 127.0.0.1",
    };
    expect(await call(`http://127.0.0.1:${plainPort}`, environment)).toBe('200 {"a":1}');
    expect(proxy.seen).toEqual([]);
  });

  it("fail by name where it is down, requires credentials or refuses", async () => {
    const at = (port: number) =>
      call("http://127.0.0.1:1", { HTTP_PROXY: `http://127.0.0.1:${port}` });
    expect(await at(1)).toBe("proxy");
    expect(await at((await startProxy(plainPort, 407)).port)).toBe("proxy_auth");
    expect(await at((await startProxy(plainPort, 403)).port)).toBe("proxy");
  });

  it.each(["10.9.8.7", "169.254.169.254", "localhost"])(
    "are refused for %s as without one",
    async (host) => {
      const proxy = await startProxy(plainPort);
      const environment = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
      expect(await call(`http://${host}`, environment, false, false)).toBe("address_refused");
      expect(proxy.seen).toEqual([]);
    },
  );

  it("fall back to an endpoint that NO_PROXY reaches where the proxy is down", async () => {
    const unreached = await startUpstream((response) => answerJson(response));
    const reached = await startUpstream((response) => answerJson(response));
    const { host } = new URL(reached.url);
    const findProxy = proxyFromEnvironment({ HTTP_PROXY: "http://127.0.0.1:1", NO_PROXY: host });
    const router = await startRouter({ table: tableOver([unreached, reached]), findProxy });
    expect((await post(router, hello)).status).toBe(200);
    await router.settled(1);
    expect(router.outcomes[0]?.attempts).toMatchObject([
      { failure: "proxy", proxied: true },
      { failure: null },
    ]);
    expect(router.outcomes[0]?.attempts[1]).not.toHaveProperty("proxied");
    expect([unreached.calls.length, reached.calls.length]).toEqual([0, 1]);
  });
});

describe("NO_PROXY", () => {
  const proxied = (entries: string, host: string, port = "") =>
    proxyFromEnvironment({ HTTPS_PROXY: "http://proxy.example", NO_PROXY: entries })?.({
      protocol: "https:",
      hostname: host,
      port,
    }) !== null;

  it.each([
    ["example.com", "example.com"],
    ["example.com", "api.example.com"],
    [".example.com", "api.example.com"],
    ["*.example.com", "API.example.com"],
    ["a.example b.example:443", "b.example"],
    ["*", "any.example"],
    ["::1", "[::1]"],
    ["[::1]:443", "[::1]"],
  ])("%s exempts %s", (entries, host) => {
    expect(proxied(entries, host)).toBe(false);
  });

  it.each([
    ["", "example.com"],
    ["ample.com", "example.com"],
    ["example.com:8443", "example.com"],
    ["::1", "[::2]"],
  ])("%j does not exempt %s", (entries, host) => {
    expect(proxied(entries, host)).toBe(true);
  });
});

it("GET /status names the proxies in use, without their credentials", async () => {
  const { server } = await startTestServer(undefined, {
    HTTPS_PROXY: "http://user:secret@proxy.example:3128",
    HTTP_PROXY: "plain.example",
    NO_PROXY: "inside.example",
  });
  const status = await (await fetch(`${server.url}/status`)).json();
  expect(status).toMatchObject({
    egress_proxies: ["http://proxy.example:3128", "http://plain.example:80"],
  });
  const direct = await startTestServer();
  expect(await (await fetch(`${direct.server.url}/status`)).json()).not.toHaveProperty(
    "egress_proxies",
  );
});

it("a proxy that is no http URL is an error that does not quote it", () => {
  expect(() => proxyFromEnvironment({ HTTPS_PROXY: "socks5://user:secret@proxy.example" })).toThrow(
    new TypeError("HTTPS_PROXY: not an http or https URL"),
  );
  expect(proxyFromEnvironment({ NO_PROXY: "*" })).toBeNull();
});

it.each(["HTTP_PROXY", "HTTPS_PROXY"])(
  "%s alone carries calls of both schemes: none is made directly",
  (name) => {
    const find = proxyFromEnvironment({ [name]: "http://127.0.0.1:1" });
    expect(find?.({ protocol: "https:", hostname: "a.example", port: "" })?.port).toBe("1");
    expect(find?.({ protocol: "http:", hostname: "a.example", port: "" })?.port).toBe("1");
  },
);
