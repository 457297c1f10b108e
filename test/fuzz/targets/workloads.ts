import { deepStrictEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { WorkloadIdentity } from "../../../src/canon/workload-identity.ts";
import { readKeySet } from "../../../src/compile/resolve/workloads.ts";
import { createWorkloadTokens } from "../../../src/keys/workload-tokens.ts";
import { mutatedText } from "../mutations.ts";
import type { FuzzTarget } from "../target.ts";

const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
const PUBLIC = { ...(await exportJWK(publicKey)), kid: "a" };
const RULES: WorkloadIdentity = {
  issuers: { edge: { issuer: "edge", keys: { kind: "file", file: "edge.json", keys: [PUBLIC] } } },
  rules: {
    shop: {
      id: "shop",
      issuedBy: "edge",
      audience: "signalbox",
      claims: [{ claim: "sub", values: ["shop:*"] }],
      workspace: "shop",
      scopes: ["inference"],
      operations: null,
      routes: null,
      lifetime: 600,
      environment: "production",
      workload: "",
      owner: null,
      labels: [],
    },
  },
};
const JWT = await new SignJWT({
  iss: "edge",
  sub: "shop:till",
  aud: "signalbox",
  exp: 4_000_000_000,
})
  .setProtectedHeader({ alg: "ES256", kid: "a" })
  .sign(privateKey);
const SETS = [
  JSON.stringify({ keys: [PUBLIC] }),
  JSON.stringify({ keys: [await exportJWK(privateKey), { kty: "oct" }] }),
];

const tokens = createWorkloadTokens(
  () => Promise.resolve({ failure: "unreachable" }),
  Date.now,
  () => 0,
  () => undefined,
);
/** The bytes of each part: several texts mean the same ones (RFC 4648 §3.5). */
const bytesOf = (jwt: string): readonly string[] =>
  jwt.split(".").map((part) => Buffer.from(part, "base64url").toString("hex"));

export const WORKLOADS: readonly FuzzTarget[] = [
  {
    name: "JWTs of workloads: a changed one is refused",
    property: fc.asyncProperty(mutatedText([JWT]), async (text) => {
      const admitted = await tokens.admit(text, RULES);
      if ("identity" in admitted) deepStrictEqual(bytesOf(text), bytesOf(JWT));
    }),
  },
  {
    name: "JWK Sets: public keys, or what is wrong with them",
    property: fc.property(mutatedText(SETS), (text) => {
      const keys = readKeySet(text);
      if (typeof keys === "string") return;
      ok(
        keys.length > 0 &&
          keys.every((key) => !Object.hasOwn(key, "d") && !Object.hasOwn(key, "k")),
      );
    }),
  },
];
