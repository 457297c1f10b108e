import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { GoogleOauth } from "../../../src/canon/table.ts";
import { googleHeadersFrom } from "../../../src/dispatch/credentials/authorize.ts";
import { startTokenServer } from "./token-server.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-google-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const SCOPES = ["https://scopes.example/a", "https://scopes.example/b"];
const oauth = (credentials: GoogleOauth["credentials"]): GoogleOauth => ({
  kind: "google_oauth",
  scopes: SCOPES,
  credentials,
  onMissing: "fail",
});

const write = (name: string, value: unknown) => {
  writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
  return name;
};

/** Workload identity federation: the one kind of file that says itself which service to ask. */
function federated(tokenUrl: string, more: object = {}) {
  return {
    type: "external_account",
    audience:
      "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: tokenUrl,
    credential_source: { file: join(folder, write("subject-token", "subject")) },
    ...more,
  };
}

const token = (text: string) => ({
  body: JSON.stringify({
    access_token: text,
    expires_in: 3600,
    token_type: "Bearer",
    issued_token_type: "x",
  }),
});

describe("headers with a Google token", () => {
  it("of a file beside routes.yaml are requested each time, with the scopes", async () => {
    let requested = 0;
    const server = await startTokenServer(() => token(`token-${(requested += 1)}`));
    const file = write("federated.json", federated(server.url));
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const fetch = googleHeadersFrom(oauth({ file }), {}, folder);
    const before = Date.now();
    const first = await fetch();
    expect(first.value).toEqual(["authorization", "Bearer token-1"]);
    expect(first.expiresAt).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(first.expiresAt).toBeLessThanOrEqual(Date.now() + 3_600_000);
    expect((await fetch()).value).toEqual(["authorization", "Bearer token-2"]);
    const form = new URLSearchParams(server.calls[0]?.body);
    expect(form.get("scope")).toBe(SCOPES.join(" "));
    expect(form.get("subject_token")).toBe("subject");
    expect(warned).not.toHaveBeenCalled();
  });

  it("of application default credentials use the named file and its quota project", async () => {
    const server = await startTokenServer(() => token("adc"));
    const name = write("adc.json", federated(server.url, { quota_project_id: "payer" }));
    const fetch = googleHeadersFrom(
      oauth("adc"),
      { GOOGLE_APPLICATION_CREDENTIALS: join(folder, name) },
      "/nowhere",
    );
    const { value } = await fetch();
    expect(value).toEqual(["authorization", "Bearer adc", "x-goog-user-project", "payer"]);
  });

  it("of a machine come from its metadata server", async () => {
    const server = await startTokenServer(({ headers }) => ({
      ...token(headers["metadata-flavor"] === "Google" ? "machine" : "unasked"),
      headers: { "metadata-flavor": "Google" },
    }));
    vi.stubEnv("GCE_METADATA_HOST", new URL(server.url).host);
    const { value, expiresAt } = await googleHeadersFrom(oauth("metadata_server"), {}, folder)();
    expect(value).toEqual(["authorization", "Bearer machine"]);
    expect(expiresAt).toBeGreaterThan(Date.now());
    expect(server.calls[0]?.path).toContain("/service-accounts/default/token?scopes=");
  });

  it("of a service account are requested with its address, its key and the scopes", async () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const file = write("account.json", {
      type: "service_account",
      client_email: "models@project.example",
      private_key: privateKey,
    });
    const { JWT } = await import("google-auth-library");
    const requested = vi.spyOn(JWT.prototype, "getRequestHeaders").mockImplementation(function (
      this: typeof JWT.prototype,
    ) {
      this.credentials = { expiry_date: 42 };
      expect([this.email, this.key, this.scopes]).toEqual([
        "models@project.example",
        privateKey,
        SCOPES,
      ]);
      return Promise.resolve(new Headers({ authorization: "Bearer account" }));
    });
    const { value, expiresAt } = await googleHeadersFrom(oauth({ file }), {}, folder)();
    expect([value, expiresAt]).toEqual([["authorization", "Bearer account"], 42]);
    requested.mockRestore();
  });

  it.each([
    ["is absent", null, "ENOENT"],
    ["is not JSON", "not json", "JSON"],
    ["is of no known type", { type: "something" }, "type that is not known"],
    [
      "is of a type named like a member of every object",
      { type: "constructor" },
      "type that is not known",
    ],
    [
      "impersonates no account",
      {
        type: "impersonated_service_account",
        source_credentials: {},
        service_account_impersonation_url: "x",
      },
      "no account to impersonate",
    ],
  ])("are refused for a file that %s", async (_, value, why) => {
    const file = value === null ? "absent.json" : write("wrong.json", value);
    await expect(googleHeadersFrom(oauth({ file }), {}, folder)()).rejects.toThrow(why);
  });

  it("are refused for a token that contains a line break and a header", async () => {
    const server = await startTokenServer(() => token("a\r\nx-evil: 1"));
    const file = write("evil.json", federated(server.url));
    await expect(googleHeadersFrom(oauth({ file }), {}, folder)()).rejects.toThrow(/header/i);
  });
});
