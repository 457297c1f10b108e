import { describe, expect, it, vi } from "vitest";
import { addKey } from "../../running/running-server.ts";
import { StoreUnavailableError } from "../../../src/canon/error.ts";
import { ask, browserOf, cookieOf, READING, signIn, signInAt, startConsole } from "./support.ts";

const SUMMARY = "/v1/governance/summary";

describe("signing in with a key", () => {
  it("sets a cookie that no script reads and no other site sends, and lists the session's scopes", async () => {
    const { server, origin } = await startConsole();
    const { id, text } = await addKey(server.store, "large", READING);
    const answer = await signInAt(origin, { key: text });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      signed_in: true,
      person: { subject: id, issuer: null, name: "test", key: id },
      workspace: "large",
      workspaces: ["large"],
      roles: ["viewer"],
      scopes: ["catalogue:read", "governance:read"],
      build_id: "0.0.0-test",
    });
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^signalbox_session=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    // The key is good for ten minutes, and the session no longer.
    expect(Date.parse(answer.json.ends_at)).toBe((await server.store.keys.get(id))?.expiresAt);
    expect(answer.text).not.toContain(text);
  });

  it("of a key with platform:manage reads all workspaces, and changes only keys elsewhere", async () => {
    const { server, origin } = await startConsole();
    const own = await addKey(server.store, "large", [...READING, "operations:manage"]);
    expect((await signIn(origin, own.text)).answer.json.workspaces).toEqual(["large"]);
    const scopes = [...READING, "operations:manage", "platform:manage"] as const;
    const { text } = await addKey(server.store, "large", scopes);
    const { answer, get } = await signIn(origin, text);
    expect(answer.json).toMatchObject({
      workspace: "large",
      workspaces: ["large", "metered", "small"],
    });
    const summary = (await get(`${SUMMARY}?workspaces=all`)).json;
    expect(summary.workspaces).toEqual(["large", "metered", "small"]);
    const elsewhere = (await get("/console/session", { "x-signalbox-workspace": "small" })).json;
    expect(elsewhere.scopes).toEqual(["catalogue:read", "governance:read", "platform:manage"]);
  });

  it("is recorded as a request of the key, also where it is refused", async () => {
    const { server, origin } = await startConsole();
    const { id, text } = await addKey(server.store, "large", READING);
    await signIn(origin, text);
    await signInAt(origin, { key: text.replace(/.{8}$/, "AAAAAAAA") });
    await server.store.evidence.flush();
    const read = await server.store.evidence.read({ after: 0, limit: 10 });
    expect(
      read.map(({ decision }) => [
        decision.operation,
        decision.outcome,
        decision.keyId,
        decision.reason,
      ]),
    ).toEqual([
      ["control", "answer", id, null],
      ["control", "refuse", null, "invalid_api_key"],
    ]);
  });

  it("stores neither the key nor the cookie", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const create = vi.spyOn(server.store.sessions, "create");
    const { cookie } = await signIn(origin, text);
    const stored = JSON.stringify(create.mock.calls);
    expect(stored).not.toContain(text.slice(-39));
    expect(stored).not.toContain(cookie.split("=")[1]);
  });

  it.each([
    { body: { key: "sbx_production_aaaaaaaaaaaa_b" }, status: 401, code: "invalid_api_key" },
    { body: { code: "unknown" }, status: 401, code: "invalid_api_key" },
    { body: {}, status: 400, code: "invalid_body" },
    { body: { key: "a", code: "b" }, status: 400, code: "invalid_body" },
    { body: { key: 1 }, status: 400, code: "invalid_body" },
    { body: { other: "a" }, status: 400, code: "invalid_body" },
  ])("refuses $body with $code", async ({ body, status, code }) => {
    const { origin } = await startConsole();
    const answer = await signInAt(origin, body);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it("refuses a key that may only call models", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", ["inference"]);
    const answer = await signInAt(origin, { key: text });
    expect([answer.status, answer.json.error.code]).toEqual([403, "insufficient_scope"]);
  });

  it("refuses a page of another site, which would sign its visitors in under another account", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "same-site" }]) {
      const answer = await signInAt(origin, { key: text }, headers);
      expect([answer.status, answer.json.error.code]).toEqual([403, "csrf_failed"]);
    }
    const form = await ask(`${origin}/console/session`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: JSON.stringify({ key: text }),
    });
    expect(form.status).toBe(415);
  });

  it("ends the former session of the browser", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const first = await signIn(origin, text);
    const second = browserOf(
      origin,
      await signInAt(origin, { key: text }, { cookie: first.cookie }),
    );
    expect((await second.get(SUMMARY)).status).toBe(200);
    expect((await first.get(SUMMARY)).json.error.code).toBe("session_ended");
  });
});

describe("a code of the terminal", () => {
  it("signs in once", async () => {
    const { server, origin } = await startConsole();
    const { id } = await addKey(server.store, "large", READING);
    const code = server.signInCode?.(id) ?? "";
    const answer = await signInAt(origin, { code });
    expect([answer.status, answer.json.person.key]).toEqual([200, id]);
    const again = await signInAt(origin, { code });
    expect([again.status, again.json.error.code]).toEqual([401, "invalid_api_key"]);
  });
});

describe("a session", () => {
  it("calls the API of the console's listener, and no model", async () => {
    const { server, origin } = await startConsole({ console: "public" });
    const { text } = await addKey(server.store, "large", READING);
    const browser = await signIn(origin, text);
    expect((await browser.get(SUMMARY)).status).toBe(200);
    expect((await browser.get("/v1/models")).status).toBe(200);
    const chat = await browser.post("/v1/chat/completions", { model: "m", messages: [] });
    expect([chat.status, chat.json.error.code]).toEqual([401, "invalid_api_key"]);
    const keys = await browser.get("/v1/keys");
    expect([keys.status, keys.json.error.code]).toEqual([403, "insufficient_scope"]);
  });

  it("is valid on the listener of the console alone, beside keys", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const { cookie } = await signIn(origin, text);
    const elsewhere = await ask(`${server.url}${SUMMARY}`, { headers: { cookie } });
    expect([elsewhere.status, elsewhere.json.error.code]).toEqual([401, "invalid_api_key"]);
    const byKey = await ask(`${origin}${SUMMARY}`, {
      headers: { authorization: `Bearer ${text}` },
    });
    expect(byKey.status).toBe(200);
    const chat = await ask(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
      body: "{}",
    });
    expect([chat.status, chat.json.error.code]).toEqual([404, "unknown_path"]);
  });

  it("is ignored beside a key in the same request", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const { cookie } = await signIn(origin, text);
    const answer = await ask(`${origin}${SUMMARY}`, {
      headers: { cookie, authorization: "Bearer wrong" },
    });
    expect([answer.status, answer.json.error.code]).toEqual([401, "invalid_api_key"]);
  });

  it("is recorded under its key", async () => {
    const { server, origin } = await startConsole();
    const { id, text } = await addKey(server.store, "large", READING);
    await (await signIn(origin, text)).get(SUMMARY);
    await server.store.evidence.flush();
    const read = await server.store.evidence.read({ after: 0, limit: 10 });
    expect(read.map(({ decision }) => [decision.keyId, decision.workspace])).toEqual([
      [id, "large"],
      [id, "large"],
    ]);
  });

  it("reads its own workspace only", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const browser = await signIn(origin, text);
    expect((await browser.get(SUMMARY, { "x-signalbox-workspace": "large" })).status).toBe(200);
    const other = await browser.get(SUMMARY, { "x-signalbox-workspace": "small" });
    expect([other.status, other.json.error.code]).toEqual([403, "workspace_not_allowed"]);
  });

  it("changes nothing without the header of its page, nor from another origin", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", ["operations:manage"]);
    const browser = await signIn(origin, text);
    const body = {
      scopes: ["inference"],
      owner: "a",
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    };
    for (const headers of [
      { "x-signalbox-csrf": "" },
      { "x-signalbox-csrf": "A".repeat(43) },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      const answer = await browser.post("/v1/keys", body, headers);
      expect([headers, answer.status, answer.json.error.code]).toEqual([
        headers,
        403,
        "csrf_failed",
      ]);
    }
    expect(await server.store.keys.list()).toHaveLength(1);
    const ours = await browser.post("/v1/keys", body, { origin, "sec-fetch-site": "same-origin" });
    expect(ours.status).toBe(200);
  });

  it("ends with its key: revoked, and no request later", async () => {
    const { server, origin } = await startConsole();
    const { id, text } = await addKey(server.store, "large", READING);
    const browser = await signIn(origin, text);
    await server.store.keys.revoke(id, Date.now());
    const answer = await browser.get(SUMMARY);
    expect([answer.status, answer.json.error.code]).toEqual([401, "session_ended"]);
    expect((await browser.get("/console/session")).json.signed_in).toBe(false);
  });

  it("ends when its person signs out, for every server over the store", async () => {
    const { server, origin, fixture } = await startConsole();
    const other = await startConsole({}, fixture);
    const { text } = await addKey(server.store, "large", READING);
    const browser = await signIn(origin, text);
    const elsewhere = browserOf(other.origin, browser.answer);
    await expect
      .poll(async () => (await elsewhere.get(SUMMARY)).status, { timeout: 5_000 })
      .toBe(200);
    const without = await browser.post("/console/session/end", {}, { "x-signalbox-csrf": "" });
    expect([without.status, without.json.error.code]).toEqual([403, "csrf_failed"]);
    const ended = await browser.post("/console/session/end");
    expect([ended.status, ended.json]).toEqual([200, { signed_in: false }]);
    expect(ended.headers.getSetCookie()).toEqual([
      expect.stringContaining("signalbox_session=; Path=/; Max-Age=0;"),
    ]);
    expect((await browser.get(SUMMARY)).json.error.code).toBe("session_ended");
    await expect
      .poll(async () => (await elsewhere.get(SUMMARY)).json.error?.code, { timeout: 3_000 })
      .toBe("session_ended");
  });

  it("is ended where it is not in the store, and its digest is not accepted", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const create = vi.spyOn(server.store.sessions, "create");
    await signIn(origin, text);
    const digest = create.mock.calls[0]?.[0].digest ?? "";
    for (const value of [digest, "A".repeat(43), "", "a=b"]) {
      const answer = await ask(`${origin}${SUMMARY}`, {
        headers: { cookie: `other=1; signalbox_session=${value}` },
      });
      expect([answer.status, answer.json.error.code]).toEqual([401, "session_ended"]);
    }
  });

  it("is reported as signed out at first, with the ways to sign in", async () => {
    const { origin } = await startConsole();
    const answer = await ask(`${origin}/console/session`);
    expect([answer.status, answer.json]).toEqual([
      200,
      { signed_in: false, sign_in: { key: true, oidc: null } },
    ]);
    expect(cookieOf(answer)).toBe("");
  });

  it("answers 503 while the store cannot be read", async () => {
    const { server, origin } = await startConsole();
    const { text } = await addKey(server.store, "large", READING);
    const { cookie } = await signIn(origin, text);
    vi.spyOn(server.store.sessions, "find").mockRejectedValue(new StoreUnavailableError("closed"));
    const answer = await ask(`${origin}${SUMMARY}`, {
      headers: { cookie: cookie.replace(/.$/, "_") },
    });
    expect([answer.status, answer.json.error.code]).toEqual([503, "store_unavailable"]);
  });
});
