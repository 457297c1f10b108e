import { describe, expect, test } from "vitest";
import type { RoutingTable } from "../../src/canon/table.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { resolveSecrets } from "../../src/compile/secrets.ts";
import { CLEAN } from "./base.ts";

const { table } = compileTable({
  path: "routes.yaml",
  text: CLEAN.replace("{ env: ALPHA_KEY }", "{ env: ALPHA_KEY }, on_missing_secret: simulate"),
}) as { table: RoutingTable };

const ALPHA = { env: "ALPHA_KEY" };
const BETA = { file: "/run/secrets/beta" };

function absent(): never {
  throw new Error("ENOENT: s3cr3t");
}

describe("resolveSecrets", () => {
  test("reads variables and files", () => {
    const { secrets, missing, invalid } = resolveSecrets(
      table,
      { ALPHA_KEY: "one" },
      (path) => `${path}!`,
    );
    expect([...secrets]).toEqual([
      ["alpha-eu", "one"],
      ["beta-us", "/run/secrets/beta!"],
    ]);
    expect([missing, invalid]).toEqual([[], []]);
  });

  test.each([
    ["two\n", "two"],
    ["two\r\n", "two"],
    ["two parts ", "two parts "],
  ])("a file with the text %j gives the secret %j", (text, secret) => {
    expect(resolveSecrets(table, {}, () => text).secrets.get("beta-us")).toBe(secret);
  });

  test.each([
    ["unset and unreadable", {}, absent],
    ["empty", { ALPHA_KEY: "" }, () => "\n"],
    ["inherited", Object.create({ ALPHA_KEY: "x" }) as Record<string, string>, absent],
  ])("%s is reported as missing, with the fix", (_, environment, readFile) => {
    const { secrets, missing } = resolveSecrets(table, environment, readFile);
    expect(secrets.size).toBe(0);
    expect(missing).toEqual([
      { provider: "alpha-eu", reference: ALPHA, onMissing: "simulate" },
      { provider: "beta-us", reference: BETA, onMissing: "fail" },
    ]);
  });

  test.each(["a\r\nx-evil: 1", "a\nb\n", "a\u0000", "a\tb", "ä", "a\n\n"])(
    "%j, which could add headers, is refused and not treated as missing",
    (value) => {
      const resolved = resolveSecrets(table, { ALPHA_KEY: value }, () => value);
      expect(resolved.secrets.size).toBe(0);
      expect(resolved.missing).toEqual([]);
      expect(resolved.invalid).toEqual([
        { provider: "alpha-eu", reference: ALPHA },
        { provider: "beta-us", reference: BETA },
      ]);
    },
  );

  test("a provider without credentials needs none", () => {
    const open = CLEAN.replace("{ bearer: { env: ALPHA_KEY } }", "none").replace(
      "{ header: X-Api-Key, secret: { file: /run/secrets/beta } }",
      "none",
    );
    const { table: without } = compileTable({ path: "routes.yaml", text: open }) as {
      table: RoutingTable;
    };
    expect(resolveSecrets(without, {}, absent)).toEqual({
      secrets: new Map(),
      missing: [],
      invalid: [],
    });
  });
});

describe("secrets of credentials made per call", () => {
  const AWS = "aws_sigv4: { service: bedrock, region: eu-west-1, credentials:";
  const resolve = (
    auth: string,
    environment: Record<string, string>,
    files: Record<string, string> = {},
  ) => {
    const text = CLEAN.replace(
      "{ bearer: { env: ALPHA_KEY } }",
      `{ ${auth}, on_missing_secret: disable }`,
    ).replace("{ header: X-Api-Key, secret: { file: /run/secrets/beta } }", "none");
    const { table: made } = compileTable({ path: "routes.yaml", text }) as { table: RoutingTable };
    const { secrets, missing, invalid } = resolveSecrets(
      made,
      environment,
      (path) => files[path] ?? absent(),
    );
    expect(secrets.size).toBe(0);
    for (const one of missing)
      expect(one).toMatchObject({ provider: "alpha-eu", onMissing: "disable" });
    return {
      missing: missing.map(({ reference }) => reference),
      refused: invalid.map(({ reference }) => reference),
    };
  };
  const KEYS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  const ROLE = { AWS_ROLE_ARN: "arn", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" };
  const HOME = { HOME: "/home/u" };
  const NOTHING = { missing: [], refused: [] };

  test.each<[string, Record<string, string>, Record<string, string>, object]>([
    [`${AWS} env }`, KEYS, {}, NOTHING],
    [
      `${AWS} env }`,
      { AWS_ACCESS_KEY_ID: "id" },
      {},
      { missing: [{ env: "AWS_SECRET_ACCESS_KEY" }], refused: [] },
    ],
    [`${AWS} env }`, {}, {}, { missing: [{ env: "AWS_ACCESS_KEY_ID" }], refused: [] }],
    [
      `${AWS} env }`,
      { ...KEYS, AWS_SESSION_TOKEN: "a\nb" },
      {},
      { missing: [], refused: [{ env: "AWS_SESSION_TOKEN" }] },
    ],
    [`${AWS} web_identity }`, ROLE, { "/token": "t" }, NOTHING],
    [`${AWS} web_identity }`, ROLE, {}, { missing: [{ file: "/token" }], refused: [] }],
    [
      `${AWS} web_identity }`,
      { AWS_ROLE_ARN: "arn" },
      {},
      { missing: [{ env: "AWS_WEB_IDENTITY_TOKEN_FILE" }], refused: [] },
    ],
    [`${AWS} shared_file }`, HOME, { "/home/u/.aws/credentials": "[other]\n[default]\n" }, NOTHING],
    [
      `${AWS} shared_file, profile: m }`,
      HOME,
      { "/home/u/.aws/config": '[profile "m"]\n' },
      NOTHING,
    ],
    [
      `${AWS} shared_file, profile: m }`,
      { AWS_CONFIG_FILE: "/c" },
      { "/c": "[profile m]" },
      NOTHING,
    ],
    [
      `${AWS} shared_file, profile: m }`,
      HOME,
      { "/home/u/.aws/credentials": "[default]\n" },
      { missing: [{ file: "/home/u/.aws/credentials" }], refused: [] },
    ],
    [`${AWS} container }`, { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/x" }, {}, NOTHING],
    [
      `${AWS} container }`,
      {},
      {},
      { missing: [{ env: "AWS_CONTAINER_CREDENTIALS_FULL_URI" }], refused: [] },
    ],
    [`${AWS} instance }`, {}, {}, NOTHING],
    ["google_oauth: { credentials: metadata_server }", {}, {}, NOTHING],
    [
      "google_oauth: { credentials: adc }",
      { GOOGLE_APPLICATION_CREDENTIALS: "/g" },
      { "/g": "{}" },
      NOTHING,
    ],
    [
      "google_oauth: { credentials: adc }",
      { GOOGLE_APPLICATION_CREDENTIALS: "/g" },
      {},
      { missing: [{ file: "/g" }], refused: [] },
    ],
    [
      "google_oauth: { credentials: adc }",
      HOME,
      { "/home/u/.config/gcloud/application_default_credentials.json": "{}" },
      NOTHING,
    ],
    [
      "google_oauth: { credentials: adc }",
      { CLOUDSDK_CONFIG: "/c" },
      { "/c/application_default_credentials.json": "{}" },
      NOTHING,
    ],
    ["google_oauth: { credentials: { file: g.json } }", {}, { "g.json": "{}" }, NOTHING],
    [
      "google_oauth: { credentials: { file: g.json } }",
      {},
      { "g.json": "\n" },
      { missing: [{ file: "g.json" }], refused: [] },
    ],
  ])(
    "of %s, with the variables %j and the files %j, are %j",
    (auth, environment, files, expected) => {
      expect(resolve(auth, environment, files)).toEqual(expected);
    },
  );
});
