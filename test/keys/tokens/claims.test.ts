import type { JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { readClaims } from "../../../src/keys/tokens/token-exchange.ts";

const CLAIMS: JWTPayload = {
  sub: "k1",
  jti: "t1",
  iat: 1_000,
  exp: 1_900,
  workspace: "w",
  scope: "inference",
  operations: null,
  routes: ["r"],
  origin: null,
  max_requests: 3,
  max_tokens: null,
};

describe("claims of a token", () => {
  it("are read as identity, bounds and end", () => {
    expect(readClaims(CLAIMS)).toEqual({
      keyId: "k1",
      workspace: "w",
      scopes: ["inference"],
      narrowed: {
        tokenId: "t1",
        operations: null,
        routes: ["r"],
        origin: null,
        ceilings: { requests: 3, tokens: null },
      },
      rule: null,
      expiresAt: 1_900_000,
    });
  });

  it.each(Object.keys(CLAIMS))("are refused without %s", (name) => {
    expect(readClaims({ ...CLAIMS, [name]: undefined })).toBeNull();
  });

  it.each(Object.keys(CLAIMS))("are refused where %s is of another kind", (name) => {
    expect(readClaims({ ...CLAIMS, [name]: { "0": "inference" } })).toBeNull();
  });

  it.each<[string, object]>([
    ["live longer than any token", { exp: 1_901 }],
    ["have an id of other characters", { jti: "a b" }],
    ["have an id of 65 characters", { jti: "a".repeat(65) }],
    ["have no scope", { scope: "" }],
    ["have a scope that only keys have", { scope: "inference route:simulate" }],
    ["name routes that are no texts", { routes: ["r", 1] }],
    ["count in fractions", { max_requests: 1.5 }],
    ["have a rule that is no text", { rule: 1 }],
  ])("are refused where they %s", (_, more) => {
    expect(readClaims({ ...CLAIMS, ...more })).toBeNull();
  });
});
