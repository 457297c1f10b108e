import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { readBundle, type Bundle } from "../../../src/http/console/bundle.ts";
import { startRouter } from "../../support/router.ts";
import { table } from "../../support/table.ts";
import { temporaryFolder } from "../../store/temporary-folder.ts";
import { addKey } from "../../running/running-server.ts";
import { ask, browserOf, cookieOf, signInAt, startConsole } from "./support.ts";

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const ASSET = "/console/assets/console-1a2b.js";

async function built(): Promise<Bundle | null> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<title>the page</title>");
  writeFileSync(join(folder, "assets/console-1a2b.js"), "script();".repeat(100));
  writeFileSync(join(folder, "assets/favicon.ico"), "icon");
  writeFileSync(join(folder, "assets/source.map"), "{}");
  writeFileSync(join(folder, "secret.txt"), "secret");
  return readBundle(pathToFileURL(`${folder}/`));
}

/** The url of a server whose bundle a test decides. */
async function startPage(bundle: () => Promise<Bundle | null>): Promise<string> {
  const unused = (): never => {
    throw new Error("not here");
  };
  const sessions = { start: unused, find: unused, endSession: unused };
  const console = {
    listener: "public",
    isSecure: false,
    inference: null,
    bundle,
    sessions,
    holderOf: unused,
    takeCode: unused,
    sealSignIn: unused,
    openSignIn: unused,
    oidcClient: unused,
  } as const;
  return (await startRouter({ table: table(), runtime: { console } })).url;
}

describe("the console's page", () => {
  it("is served for every path below /console/, with a policy that forbids foreign content", async () => {
    const bundle = await built();
    const url = await startPage(() => Promise.resolve(bundle));
    for (const path of [
      "/console",
      "/console/",
      "/console/decisions?a=b",
      "/console/../console/x",
    ]) {
      const answer = await ask(`${url}${path}`);
      expect([path, answer.status, answer.text]).toEqual([path, 200, "<title>the page</title>"]);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": CSP,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-cache",
      });
    }
  });

  it("answers /favicon.ico with an icon that browsers cache for a day", async () => {
    const bundle = await built();
    const url = await startPage(() => Promise.resolve(bundle));
    const answer = await ask(`${url}/favicon.ico`);
    expect([answer.status, answer.text]).toEqual([200, "icon"]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "image/x-icon",
      "cache-control": "public, max-age=86400",
    });
  });

  it("has parts that browsers cache, compressed where they accept it", async () => {
    const bundle = await built();
    const url = await startPage(() => Promise.resolve(bundle));
    const plain = await ask(`${url}${ASSET}`, { headers: { "accept-encoding": "identity" } });
    expect(plain.text).toBe("script();".repeat(100));
    expect(Object.fromEntries(plain.headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "content-security-policy": CSP,
      "content-length": "900",
      vary: "accept-encoding",
    });
    const small = await ask(`${url}${ASSET}`, { headers: { "accept-encoding": "br, gzip" } });
    expect([small.text, small.headers.get("content-encoding")]).toEqual([plain.text, "gzip"]);
    const refused = await ask(`${url}${ASSET}`, { headers: { "accept-encoding": "gzip;q=0" } });
    expect(refused.headers.get("content-encoding")).toBeNull();
  });

  it.each(["other.js", "source.map", "..%2fsecret.txt", "%2e%2e/secret.txt", "../secret.txt", ""])(
    "has no part %j",
    async (name) => {
      const bundle = await built();
      const url = await startPage(() => Promise.resolve(bundle));
      const answer = await ask(`${url}/console/assets/${name}`);
      expect(answer.text).not.toBe("secret");
      expect(answer.headers.get("content-type")).not.toContain("javascript");
    },
  );

  it("names the build command before it is built, and is served afterwards", async () => {
    let bundle: Bundle | null = null;
    const url = await startPage(() => Promise.resolve(bundle));
    const absent = await ask(`${url}/console/`);
    expect([absent.status, absent.text]).toEqual([
      503,
      expect.stringContaining("npm run tool -- console"),
    ]);
    bundle = await built();
    expect((await ask(`${url}/console/`)).status).toBe(200);
  });

  it("is the redirect target of GET /, on its listener", async () => {
    const { server } = await startConsole();
    const answer = await ask(`${server.adminUrl}/`);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/console/"]);
    for (const path of ["/", "/console", "/console/", "/console/session", ASSET]) {
      const elsewhere = await ask(`${server.url}${path}`);
      expect([path, elsewhere.status, elsewhere.json.error.code]).toEqual([
        path,
        404,
        "unknown_path",
      ]);
    }
  });

  it("is nowhere with --console off, nor the API on the admin listener", async () => {
    const { server } = await startConsole({ console: "off" });
    for (const origin of [server.url, server.adminUrl]) {
      for (const path of ["/", "/console/", "/console/session"]) {
        expect((await ask(`${origin}${path}`)).status).toBe(404);
      }
    }
    expect((await ask(`${server.adminUrl}/v1/models`)).status).toBe(404);
    expect(server.signInCode).toBeNull();
  });

  it("has cookies of its host alone where a proxy ends TLS in front", async () => {
    const { server, origin } = await startConsole({ console: "public", exposure: "behind_proxy" });
    const { text } = await addKey(server.store, "large", ["governance:read"]);
    const answer = await signInAt(origin, { key: text });
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-signalbox_session=.*; Secure$/),
    ]);
    expect((await browserOf(origin, answer).get("/v1/governance/summary")).status).toBe(200);
    const plain = cookieOf(answer).replace("__Host-", "");
    expect(
      (await ask(`${origin}/v1/governance/summary`, { headers: { cookie: plain } })).status,
    ).toBe(401);
  });
});
