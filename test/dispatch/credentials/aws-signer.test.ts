import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createAwsSigner, type AwsKeys } from "../../../src/dispatch/credentials/authorize.ts";
import type { OutgoingRequest } from "../../../src/dispatch/connections.ts";
import { Renewed } from "../../../src/dispatch/credentials/renewed.ts";

/** Published example keys of AWS; they open nothing. */
const KEYS: AwsKeys = {
  accessKeyId: ["AKID", "EXAMPLE"].join(""),
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const WHEN = Date.UTC(2015, 7, 30, 12, 36, 0);

interface Case {
  readonly service?: string;
  readonly region?: string;
  readonly host?: string;
  readonly keys?: AwsKeys;
}

function signer({
  service = "service",
  region = "us-east-1",
  host = "example.amazonaws.com",
  keys = KEYS,
}: Case = {}) {
  const renewed = new Renewed({
    fetch: () => Promise.resolve({ value: keys, expiresAt: null }),
    patience: 1_000,
    now: () => WHEN,
  });
  return createAwsSigner({ service, region, host, keys: renewed, now: () => WHEN });
}

async function sign(
  request: Partial<OutgoingRequest>,
  options: Case = {},
): Promise<Record<string, string>> {
  const list = await signer(options)({
    method: "POST",
    path: "/",
    headers: [],
    body: "",
    ...request,
  });
  return Object.fromEntries(
    list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ""]] : [])),
  );
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string) =>
  createHmac("sha256", key).update(text).digest();

/**
 * The algorithm as "Create a signed AWS API request" (AWS IAM User Guide) writes it down, over a
 * canonical request written by hand.
 */
function signatureOf(canonical: string, region: string, service: string, keys: AwsKeys): string {
  const scope = `20150830/${region}/${service}/aws4_request`;
  const toSign = `AWS4-HMAC-SHA256\n20150830T123600Z\n${scope}\n${sha256(canonical)}`;
  const day = hmac(`AWS4${keys.secretAccessKey}`, "20150830");
  const key = hmac(hmac(hmac(day, region), service), "aws4_request");
  return hmac(key, toSign).toString("hex");
}

const parts = (authorization = "") =>
  /^AWS4-HMAC-SHA256 Credential=(?<credential>[^,]+), SignedHeaders=(?<headers>[^,]+), Signature=(?<signature>[0-9a-f]{64})$/.exec(
    authorization,
  )?.groups ?? {};

describe("the signer of this test", () => {
  // "get-vanilla" and "post-vanilla" of AWS's Signature Version 4 test suite: the published
  // signatures.
  it.each([
    ["GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
    ["POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
  ])("gives the published signature of %s", (method, signature) => {
    const canonical = `${method}\n/\n\nhost:example.amazonaws.com\nx-amz-date:20150830T123600Z\n\nhost;x-amz-date\n${sha256("")}`;
    expect(signatureOf(canonical, "us-east-1", "service", KEYS)).toBe(signature);
  });
});

describe("a signed call", () => {
  it("names key, day, region and service, and carries the body's hash", async () => {
    const headers = await sign({ body: "{}" }, { service: "bedrock", region: "eu-west-1" });
    expect(Object.keys(headers).toSorted()).toEqual([
      "authorization",
      "x-amz-content-sha256",
      "x-amz-date",
    ]);
    expect(headers["x-amz-date"]).toBe("20150830T123600Z");
    expect(headers["x-amz-content-sha256"]).toBe(sha256("{}"));
    expect(parts(headers.authorization).credential).toBe(
      `${KEYS.accessKeyId}/20150830/eu-west-1/bedrock/aws4_request`,
    );
  });

  it("covers the path encoded twice, the sorted query, the host with its port and the session token", async () => {
    const keys = { ...KEYS, sessionToken: "session+token==" };
    const host = "bedrock-runtime.eu-west-1.amazonaws.com:8443";
    const body = '{"messages":[{"role":"user","content":[{"text":"Grüße"}]}]}';
    const headers = await sign(
      {
        path: "/model/eu.anthropic.claude-v2%3A0/converse?b=2&a=x%20y&a=1",
        headers: [
          "content-type",
          "application/json",
          "accept-encoding",
          "identity",
          "user-agent",
          "signalbox",
        ],
        body,
      },
      { service: "bedrock", region: "eu-west-1", host, keys },
    );
    const signed = "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token";
    const canonical = [
      "POST",
      "/model/eu.anthropic.claude-v2%253A0/converse",
      "a=1&a=x%20y&b=2",
      "content-type:application/json",
      `host:${host}`,
      `x-amz-content-sha256:${sha256(body)}`,
      "x-amz-date:20150830T123600Z",
      "x-amz-security-token:session+token==",
      "",
      signed,
      sha256(body),
    ].join("\n");
    expect(headers["x-amz-security-token"]).toBe("session+token==");
    expect(parts(headers.authorization).headers).toBe(signed);
    expect(parts(headers.authorization).signature).toBe(
      signatureOf(canonical, "eu-west-1", "bedrock", keys),
    );
  });

  it("covers the protocol's own headers, so that they cannot be changed on the way", async () => {
    const plain = await sign({ headers: ["anthropic-version", "2023-06-01"] });
    const changed = await sign({ headers: ["anthropic-version", "2023-06-02"] });
    expect(parts(plain.authorization).headers).toContain("anthropic-version");
    expect(parts(plain.authorization).signature).not.toBe(parts(changed.authorization).signature);
  });

  it("fails without keys", async () => {
    const keys = new Renewed<AwsKeys>({
      fetch: () => Promise.reject(new Error("no")),
      patience: 1_000,
      now: () => WHEN,
    });
    const authorize = createAwsSigner({
      service: "s",
      region: "r",
      host: "h.example",
      keys,
      now: () => WHEN,
    });
    await expect(authorize({ method: "POST", path: "/", headers: [], body: "" })).rejects.toThrow(
      "credentials",
    );
  });
});
