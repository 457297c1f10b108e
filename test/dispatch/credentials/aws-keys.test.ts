import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { AwsSigning } from "../../../src/canon/table.ts";
import { awsKeysFrom } from "../../../src/dispatch/credentials/authorize.ts";
import { startTokenServer } from "./token-server.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const write = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

function signing(credentials: AwsSigning["credentials"], profile = "default"): AwsSigning {
  return {
    kind: "aws_sigv4",
    service: "bedrock",
    region: "eu-west-1",
    credentials,
    profile,
    onMissing: "fail",
  };
}

const keys = (source: AwsSigning, environment: Record<string, string>) =>
  awsKeysFrom(source, environment, 1_000);
const EXPIRY = "2030-01-02T03:04:05Z";

describe("keys from the environment", () => {
  it("are read from the variables, and never expire", async () => {
    const environment = {
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_SESSION_TOKEN: "token",
    };
    expect(await keys(signing("env"), environment)()).toEqual({
      value: { accessKeyId: "id", secretAccessKey: "secret", sessionToken: "token" },
      expiresAt: null,
    });
    const { AWS_SESSION_TOKEN: _, ...longLived } = environment;
    expect((await keys(signing("env"), longLived)()).value).toEqual({
      accessKeyId: "id",
      secretAccessKey: "secret",
    });
  });

  it("are refused where one is missing, though the process's own environment has it", async () => {
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "of-the-process");
    await expect(keys(signing("env"), { AWS_ACCESS_KEY_ID: "id" })()).rejects.toThrow("not set");
  });
});

describe("keys of a role with a web identity", () => {
  const answer = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/models/signalbox</Arn><AssumedRoleId>x:signalbox</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>role-id</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-token</SessionToken><Expiration>${EXPIRY}</Expiration></Credentials></AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>`;

  it("are exchanged for the file's token, which is read at every renewal", async () => {
    const server = await startTokenServer(() => ({ type: "text/xml", body: answer }));
    const token = write("web-identity", "first-token");
    const fetch = keys(signing("web_identity"), {
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/models",
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ENDPOINT_URL_STS: server.url,
    });
    expect(await fetch()).toEqual({
      value: { accessKeyId: "role-id", secretAccessKey: "role-secret", sessionToken: "role-token" },
      expiresAt: Date.parse(EXPIRY),
    });
    writeFileSync(token, "second-token");
    await fetch();
    const sent = server.calls.map(({ body }) => new URLSearchParams(body));
    expect(sent.map((form) => form.get("WebIdentityToken"))).toEqual([
      "first-token",
      "second-token",
    ]);
    expect(sent[0]?.get("RoleArn")).toBe("arn:aws:iam::123456789012:role/models");
    expect(sent[0]?.get("RoleSessionName")).toBe("signalbox");
  });

  it("are refused where the service refuses", async () => {
    const body = `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`;
    const server = await startTokenServer(() => ({ status: 403, type: "text/xml", body }));
    const fetch = keys(signing("web_identity"), {
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/models",
      AWS_WEB_IDENTITY_TOKEN_FILE: write("refused", "token"),
      AWS_ENDPOINT_URL_STS: server.url,
    });
    await expect(fetch()).rejects.toThrow("no");
    expect(server.calls).toHaveLength(1);
  });
});

describe("keys of the shared files", () => {
  it("are those of the profile, read again at every renewal", async () => {
    const path = write("credentials", "[default]\naws_access_key_id=d\naws_secret_access_key=e\n");
    const environment = {
      AWS_SHARED_CREDENTIALS_FILE: path,
      AWS_CONFIG_FILE: join(folder, "absent"),
    };
    const fetch = keys(signing("shared_file", "models"), environment);
    await expect(fetch()).rejects.toThrow("Could not resolve credentials using profile");
    writeFileSync(path, "[models]\naws_access_key_id=id\naws_secret_access_key=one\n");
    expect((await fetch()).value).toMatchObject({ accessKeyId: "id", secretAccessKey: "one" });
    writeFileSync(path, "[models]\naws_access_key_id=id\naws_secret_access_key=two\n");
    expect(await fetch()).toEqual({
      value: { accessKeyId: "id", secretAccessKey: "two" },
      expiresAt: null,
    });
  });
});

describe("keys of a container", () => {
  const body = JSON.stringify({
    AccessKeyId: "c",
    SecretAccessKey: "s",
    Token: "t",
    Expiration: EXPIRY,
  });

  it("are requested with the token of the file, without the process's environment", async () => {
    vi.stubEnv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/of-the-process");
    vi.stubEnv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "of-the-process");
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const server = await startTokenServer(() => ({ body }));
    const fetch = keys(signing("container"), {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/keys`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: write("container-token", "container-token"),
    });
    expect(await fetch()).toEqual({
      value: { accessKeyId: "c", secretAccessKey: "s", sessionToken: "t" },
      expiresAt: Date.parse(EXPIRY),
    });
    expect(server.calls[0]).toMatchObject({
      path: "/keys",
      headers: { authorization: "container-token" },
    });
    expect(warned).not.toHaveBeenCalled();
  });

  it("are never requested over http from a host that is not the machine's own", async () => {
    const fetch = keys(signing("container"), {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://keys.example/",
    });
    await expect(fetch()).rejects.toThrow("URL not accepted");
  });
});

describe("keys of a machine", () => {
  it("are read from version 2 of its metadata service", async () => {
    const server = await startTokenServer(({ method, path, headers }) => {
      if (method === "PUT" && path === "/latest/api/token")
        return { type: "text/plain", body: "metadata-token" };
      if (headers["x-aws-ec2-metadata-token"] !== "metadata-token")
        return { status: 401, body: "" };
      if (path.endsWith("/security-credentials/")) return { type: "text/plain", body: "role" };
      const named = {
        Code: "Success",
        AccessKeyId: "i",
        SecretAccessKey: "s",
        Token: "t",
        Expiration: EXPIRY,
      };
      return { body: JSON.stringify(named) };
    });
    vi.stubEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url);
    expect(await keys(signing("instance"), {})()).toEqual({
      value: { accessKeyId: "i", secretAccessKey: "s", sessionToken: "t" },
      expiresAt: Date.parse(EXPIRY),
    });
  });

  it("are not requested from version 1, where version 2 is not there", async () => {
    const server = await startTokenServer(({ method }) =>
      method === "PUT" ? { status: 404, body: "" } : { type: "text/plain", body: "role" },
    );
    vi.stubEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url);
    await expect(keys(signing("instance"), {})()).rejects.toThrow("v1 fallback");
    expect(server.calls.filter(({ method }) => method === "GET")).toEqual([]);
  });
});
