import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { serverUrl } from "../../src/cli/terminal/call-server.ts";
import { UsageError } from "../../src/cli/terminal/command-io.ts";
import type { AwsSigning, GoogleOauth } from "../../src/canon/table.ts";
import { awsKeysFrom } from "../../src/dispatch/credentials/authorize.ts";
import { googleHeadersFrom } from "../../src/dispatch/credentials/authorize.ts";
import { startRaw, type RawServer } from "./raw.ts";

/** Credentials are sent where the operator said, and not after a redirect. */

const folder = mkdtempSync(join(tmpdir(), "signalbox-redirects-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const write = (name: string, value: unknown): string => {
  writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
  return join(folder, name);
};

/** A server that sends everybody to another one, which would answer with a good token. */
async function redirecting(
  status: number,
): Promise<{ readonly door: RawServer; readonly trap: RawServer }> {
  const body = JSON.stringify({
    access_token: "trapped",
    expires_in: 3600,
    token_type: "Bearer",
    AccessKeyId: "k",
  });
  const trap = await startRaw((socket) => {
    socket.end(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  });
  const door = await startRaw((socket) => {
    socket.end(`HTTP/1.1 ${status} X\r\nlocation: ${trap.url}/token\r\ncontent-length: 0\r\n\r\n`);
  });
  return { door, trap };
}

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

function federated(url: string): object {
  return {
    type: "external_account",
    audience:
      "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: url,
    credential_source: { file: write("subject", "subject") },
  };
}

describe("Google credentials", () => {
  it.each([302, 307, 308])("of a federated identity follow no redirect: %i", async (status) => {
    const { door, trap } = await redirecting(status);
    const oauth: GoogleOauth = {
      kind: "google_oauth",
      scopes: ["https://scopes.example/a"],
      credentials: { file: write("federated.json", federated(door.url)) },
      onMissing: "fail",
    };
    await expect(googleHeadersFrom(oauth, {}, folder)()).rejects.toThrow(/./);
    expect(door.heads.length).toBeGreaterThan(0);
    expect(trap.connections()).toBe(0);
  });

  it.each([
    [
      "a service account",
      { type: "service_account", client_email: "a@b.example", private_key: privateKey },
    ],
    ["a user", { type: "authorized_user", client_id: "i", client_secret: "s", refresh_token: "r" }],
  ])("of %s: no request is sent that would follow a redirect", async (_, file) => {
    const { JWT, UserRefreshClient } = await import("google-auth-library");
    const { prototype } = file.type === "service_account" ? JWT : UserRefreshClient;
    const requested: unknown[] = [];
    const spy = vi.spyOn(prototype, "getRequestHeaders").mockImplementation(function (
      this: typeof prototype,
    ) {
      requested.push(this.transporter.defaults.redirect);
      return Promise.resolve(new Headers({ authorization: "Bearer x" }));
    });
    const credentials = { file: write("file.json", file) };
    await googleHeadersFrom(
      { kind: "google_oauth", scopes: ["x"], credentials, onMissing: "fail" },
      {},
      folder,
    )();
    spy.mockRestore();
    expect(requested).toEqual(["error"]);
  });
});

describe("AWS credentials", () => {
  it.each<[AwsSigning["credentials"], (url: string) => Record<string, string>]>([
    [
      "web_identity",
      (url) => ({
        AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/models",
        AWS_WEB_IDENTITY_TOKEN_FILE: write("web-identity", "token"),
        AWS_ENDPOINT_URL_STS: url,
      }),
    ],
    [
      "container",
      (url) => ({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/keys`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN: "token",
      }),
    ],
    ["instance", () => ({})],
  ])("of the kind %s follow no redirect", async (credentials, environment) => {
    const { door, trap } = await redirecting(307);
    vi.stubEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", door.url);
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const signing = {
      kind: "aws_sigv4",
      service: "bedrock",
      region: "eu-west-1",
      credentials,
      profile: "default",
      onMissing: "fail",
    } as const;
    await expect(awsKeysFrom(signing, environment(door.url), 1_000)()).rejects.toThrow(/./);
    expect(door.heads.length).toBeGreaterThan(0);
    expect(trap.connections()).toBe(0);
  });
});

it("telemetry is sent to the operator's address, and follows no redirect", async () => {
  const { door, trap } = await redirecting(307);
  const exporter = new OTLPTraceExporter({ url: `${door.url}/v1/traces`, timeoutMillis: 2_000 });
  await new Promise<void>((resolve) => {
    exporter.export([], () => resolve());
  });
  await exporter.shutdown();
  expect(door.heads.length).toBeGreaterThan(0);
  expect(trap.connections()).toBe(0);
});

describe("a command's key", () => {
  it.each([
    "http://here.example//evil.example",
    "http://here.example/\\evil.example",
    "http://here.example//evil.example/..",
  ])("is sent to the host of --server: %s", (server) => {
    let host = "refused";
    try {
      ({ host } = serverUrl(server, "/v1/policies"));
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
    }
    expect(["here.example", "refused"]).toContain(host);
  });
});
