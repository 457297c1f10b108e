import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREATED, keyPage, serviceKey } from "./answers/keys.ts";
import { SIGNED_IN } from "./answers/session.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";
import { fault, type Answers, type FakeRequest } from "./fake-server.ts";

const KEYS = Array.from({ length: 10_000 }, (_, at) => serviceKey(at));
const LIST: Answers = {
  "GET /v1/keys": ({ query }) => ({
    body: keyPage(KEYS, query.get("after"), Number(query.get("limit"))),
  }),
};

describe.skipIf(CHROMIUM === null)(`keys in the console${WITHOUT}`, { timeout: 120_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  }, 120_000);
  afterAll(() => stage.close(), 120_000);

  test("ten thousand keys are read a page of fifty at a time", async () => {
    const page = await stage.open("#/keys", LIST);
    await expect.poll(() => page.locator("tbody tr").count()).toBe(50);
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByText("k00000000050").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(50);
    await page.getByRole("button", { name: "Newer" }).click();
    await page.getByText("k00000000000").waitFor();
  });

  test("keys that expire soon come first, with the hours that are left within two days", async () => {
    const keys = [
      serviceKey(1, { expires_at: "2026-12-20T10:30:00.000Z" }),
      serviceKey(2, { expires_at: "2026-11-29T10:30:00.000Z" }),
      serviceKey(3, { expires_at: "2026-11-25T01:30:00.000Z" }),
    ];
    const page = await stage.open(
      "#/keys",
      { "GET /v1/keys": { body: keyPage(keys, null, 50) } },
      { now: "2026-11-24T02:00:00Z" },
    );
    await page.getByText("3 keys, page 1").waitFor();
    const cells = await page.locator("tbody tr td:nth-child(3) .lines > span").allTextContents();
    expect(cells).toEqual(["expires soon in 23 h", "expires soon 29 Nov, 11:30", " 20 Dec, 11:30"]);
  });

  test("a named key is listed and searched by its name, with its owner", async () => {
    const page = await stage.open("#/keys", {
      "GET /v1/keys": { body: keyPage(KEYS.slice(0, 2), null, 50) },
    });
    await page.getByText("2 keys, page 1").waitFor();
    const [named, other] = await page.locator("tbody tr td:first-child").allTextContents();
    expect([named, other]).toEqual([
      "checkout-prodgroup:payments k00000000000",
      "group:searchk00000000001",
    ]);
    await page.getByLabel("Search keys").fill("checkout");
    await page.getByText("1 key found").waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test("keys of all workspaces are listed together, and each is changed in its own workspace", async () => {
    const changes: unknown[] = [];
    const [first, second] = [serviceKey(0), { ...serviceKey(1), workspace: "support" }];
    const changed = (request: FakeRequest) => {
      changes.push([request.path, request.headers["x-signalbox-workspace"]]);
      return { body: request.path.endsWith("/revoke") ? second : CREATED };
    };
    const page = await stage.open("#/keys", {
      "GET /v1/keys": ({ query }) => ({
        body: keyPage(query.get("workspaces") === "all" ? [first, second] : [first], null, 50),
      }),
      "POST /v1/keys": changed,
      "POST /v1/keys/*": changed,
    });
    await page.getByText("2 keys, page 1").waitFor();
    await page.getByRole("button", { name: `Revoke ${second.id}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Owner").fill("group:payments");
    await page.getByLabel("Workspace of the key").selectOption("support");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText(CREATED.key).waitFor();
    expect(changes).toEqual([
      [`/v1/keys/${second.id}/revoke`, "support"],
      ["/v1/keys", "support"],
    ]);
    expect(stage.complaints).toEqual([]);
  });

  test("a new key is shown once, can be copied, and is gone after that", async () => {
    const bodies: unknown[] = [];
    const page = await stage.open("#/keys", {
      ...LIST,
      "POST /v1/keys": ({ body, headers }) => {
        bodies.push(body, headers["x-signalbox-csrf"]);
        return { status: 201, body: CREATED };
      },
    });
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Name", { exact: false }).first().fill("checkout-prod");
    await page.getByLabel("Owner").fill("group:payments");
    await page.getByLabel("Labels").fill("tools-approved, eu");
    await page.getByLabel("Requests a minute").fill("60");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText(CREATED.key).waitFor();
    expect(bodies).toEqual([
      {
        name: "checkout-prod",
        owner: "group:payments",
        scopes: ["inference", "catalogue:read"],
        expires_in: 90 * 86_400,
        labels: ["tools-approved", "eu"],
        limits: { requests_per_minute: 60 },
      },
      SIGNED_IN.csrf,
    ]);
    await page.getByRole("button", { name: "Copy key" }).click();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(CREATED.key);
    await page.getByRole("button", { name: "I have stored it" }).click();
    expect(await page.content()).not.toContain(CREATED.key);
    expect(stage.complaints).toEqual([]);
  });

  test("a refused key keeps the form and shows the reason", async () => {
    const page = await stage.open("#/keys", {
      ...LIST,
      "POST /v1/keys": fault(
        400,
        "too_many_keys",
        "The workspace has as many active keys as it may have.",
      ),
    });
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Owner").fill("group:payments");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("as many active keys");
    expect(await page.getByLabel("Owner").inputValue()).toBe("group:payments");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  });

  test("rotating names the overlap, and revoking needs a confirmation", async () => {
    const changes: unknown[] = [];
    const page = await stage.open("#/keys", {
      ...LIST,
      "POST /v1/keys/*": ({ path, body }) => {
        changes.push([path, body]);
        return { body: path.endsWith("/rotate") ? { ...CREATED, previous: KEYS[0] } : KEYS[0] };
      },
    });
    await page.getByRole("button", { name: "Rotate k00000000000" }).click();
    await page.getByLabel("The old key still works for").selectOption("3600");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByText(CREATED.key).waitFor();
    await page.getByRole("button", { name: "Revoke k00000000001" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Revoke k00000000001" }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await expect.poll(() => changes.length).toBe(2);
    expect(changes).toEqual([
      ["/v1/keys/k00000000000/rotate", { overlap_seconds: 3_600 }],
      ["/v1/keys/k00000000001/revoke", null],
    ]);
  });

  test("a session that may not manage has neither the page's entry nor its buttons", async () => {
    const viewer = {
      ...SIGNED_IN,
      roles: ["viewer"],
      scopes: ["governance:read", "catalogue:read"],
    };
    const page = await stage.open("#/keys", { ...LIST, "GET /console/session": { body: viewer } });
    await page.getByRole("link", { name: "Decisions" }).waitFor();
    expect(await page.getByRole("link", { name: "Keys" }).count()).toBe(0);
    await page.getByRole("table").waitFor();
    expect(await page.getByRole("button", { name: /Create|Rotate|Revoke/ }).count()).toBe(0);
  });

  test("an empty workspace shows the next step", async () => {
    const page = await stage.open("#/keys", { "GET /v1/keys": { body: keyPage([], null, 50) } });
    await expect.poll(() => page.getByText("There are no keys yet").count()).toBe(1);
    expect(await page.getByRole("navigation", { name: "Pages of keys" }).count()).toBe(0);
  });
});
