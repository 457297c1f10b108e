import { expect, test } from "vitest";
import { exportJWK, generateKeyPair } from "jose";
import { compileFiles, lines, withKeySet } from "./samples.ts";

const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
const PUBLIC = { ...(await exportJWK(publicKey)), kid: "a" };
const set = (...keys: readonly unknown[]): string => JSON.stringify({ keys });

test("the keys of an issuer are read from a file beside routes.yaml, into the table and its revision", async () => {
  const files = {
    "routes.yaml": withKeySet("keys/../keys/cluster.json"),
    "keys/cluster.json": set(PUBLIC),
  };
  const compiled = await compileFiles(files);
  expect(lines(compiled)).toEqual([]);
  expect(compiled.table?.workloadIdentity?.issuers.cluster?.keys).toMatchObject({
    kind: "file",
    keys: [PUBLIC],
  });
  const rotated = await compileFiles({
    ...files,
    "keys/cluster.json": set(PUBLIC, { ...PUBLIC, kid: "b" }),
  });
  expect(rotated.table?.revision).not.toBe(compiled.table?.revision);
});

test("an included file and an overlay name files from the folder of routes.yaml too", async () => {
  const [main = "", section = ""] = withKeySet("cluster.json").split("workload_identity:");
  const included = await compileFiles({
    "routes.yaml": `include: [teams/shop.yaml]\n${main}`,
    "teams/shop.yaml": `workload_identity:${section}`,
    "cluster.json": set(PUBLIC),
  });
  expect(lines(included)).toEqual([]);
  const overlaid = await compileFiles(
    {
      "routes.yaml": withKeySet("cluster.json"),
      "routes.production.yaml":
        "workload_identity:\n  issuers:\n    cluster: { jwks_file: production.json }\n",
      "cluster.json": set({ ...PUBLIC, kid: "cluster" }),
      "production.json": set({ ...PUBLIC, kid: "production" }),
    },
    "production",
  );
  expect(lines(overlaid)).toEqual([]);
  const keys = overlaid.table?.workloadIdentity?.issuers.cluster?.keys;
  expect(keys?.kind === "file" ? keys.keys.map(({ kid }) => kid) : null).toEqual(["production"]);
});

test("a file that is not there, or lies outside of the folder, is an error", async () => {
  expect(lines(await compileFiles({ "routes.yaml": withKeySet("cluster.json") }))).toEqual([
    "SOURCE_UNREADABLE cluster.json:1:1 there is no such file (check the path)",
  ]);
  for (const file of ["/etc/passwd", "../cluster.json"]) {
    expect((await compileFiles({ "routes.yaml": withKeySet(file) })).table).toBeNull();
  }
});

test.each<[string, string, string]>([
  ["no JSON", "{", "is not a JWK Set: an object with a list `keys`"],
  ["a key alone", JSON.stringify(PUBLIC), "is not a JWK Set: an object with a list `keys`"],
  ["no key", set(), "must have 1 to 64 keys"],
  ["many keys", set(...Array.from({ length: 65 }, () => PUBLIC)), "must have 1 to 64 keys"],
  [
    "a private key",
    set(PUBLIC, await exportJWK(privateKey)),
    "has a private key, which belongs to the issuer alone, at keys[1]",
  ],
  [
    "a shared secret",
    set({ kty: "oct", k: "c2VjcmV0" }),
    "has a key other than RSA, EC or OKP at keys[0]",
  ],
  [
    "a key that is cut off",
    set({ ...PUBLIC, x: "AA" }),
    "has a key that cannot be read at keys[0]",
  ],
  ["text", set("key"), "has a key other than RSA, EC or OKP at keys[0]"],
])("a file with %s is an error that repeats nothing of it", async (_, text, message) => {
  const compiled = await compileFiles({
    "routes.yaml": withKeySet("cluster.json"),
    "cluster.json": text,
  });
  const [line = "", ...others] = lines(compiled);
  expect(others).toEqual([]);
  expect(line).toMatch(/^JWKS_INVALID routes\.yaml:\d+:60 /);
  expect(line).toContain(`the file with the keys of issuer \`cluster\` ${message} (`);
  expect(compiled.table).toBeNull();
});
