import fc from "fast-check";
import { expect, it } from "vitest";

import type { Identity, TokenCeilings } from "../../../src/canon/identity.ts";
import { tokenCounters } from "../../../src/keys/tokens/token-exchange.ts";

type Counted = Pick<Identity, "workspace" | "expiresAt" | "narrowed">;

const counted = (
  tokenId: string,
  ceilings: Partial<TokenCeilings>,
  more: Partial<Counted> = {},
): Counted => ({
  workspace: "w",
  narrowed: {
    tokenId,
    operations: null,
    routes: null,
    origin: null,
    ceilings: { requests: null, tokens: null, ...ceilings },
  },
  expiresAt: 1_000,
  ...more,
});

it("a token admits as many requests as its ceiling, and none once its tokens are spent, in any order", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.oneof(fc.constant("take" as const), fc.integer({ min: 0, max: 20 }))),
      (requests, tokens, steps) => {
        const counters = tokenCounters();
        const token = counted("t", { requests, tokens });
        let [started, spent] = [0, 0];
        for (const step of steps) {
          if (step !== "take") {
            counters.spend("t", step);
            if (started > 0) spent += step;
          } else if (started >= requests) expect(counters.take(token, 0)).toBe("requests");
          else if (spent >= tokens) expect(counters.take(token, 0)).toBe("tokens");
          else {
            expect(counters.take(token, 0)).toBeNull();
            started += 1;
          }
        }
      },
    ),
  );
});

it("a batch counts once for each of its calls, or not at all", () => {
  const counters = tokenCounters();
  const token = counted("a", { requests: 5 });
  expect(counters.take(token, 0, 3)).toBeNull();
  expect(counters.take(token, 0, 3)).toBe("requests");
  expect(counters.take(token, 0, 2)).toBeNull();
  expect(counters.take(token, 0)).toBe("requests");
});

it("tokens are counted separately, and not at all without ceilings", () => {
  const counters = tokenCounters();
  expect(counters.take(counted("a", { requests: 1 }), 0)).toBeNull();
  expect(counters.take(counted("b", { requests: 1 }), 0)).toBeNull();
  expect(counters.take(counted("a", { requests: 1 }), 0)).toBe("requests");
  for (let count = 0; count < 10; count += 1) expect(counters.take(counted("c", {}), 0)).toBeNull();
});

it("a reached ceiling is reported without counting", () => {
  const counters = tokenCounters();
  const token = counted("a", { requests: 1 });
  for (let count = 0; count < 3; count += 1) expect(counters.reached(token)).toBeNull();
  expect(counters.take(token, 0)).toBeNull();
  expect(counters.reached(token)).toBe("requests");
});

it("a full workspace's new tokens are refused, so that no usage is forgotten; other workspaces' are admitted", () => {
  const counters = tokenCounters();
  for (let count = 0; count < 20_000; count += 1)
    counters.take(counted(`t${count}`, { requests: 1 }), 0);
  const fresh = counted("new", { requests: 1 }, { expiresAt: 9_000 });
  expect(counters.take(fresh, 999)).toBe("requests");
  expect(counters.take(counted("t0", { requests: 1 }), 999)).toBe("requests");
  expect(counters.take(counted("other", { requests: 1 }, { workspace: "x" }), 999)).toBeNull();
  // Expired ones make room, looked for once a second.
  expect(counters.take(fresh, 1_998)).toBe("requests");
  expect(counters.take(fresh, 1_999)).toBeNull();
  expect(counters.reached(counted("t0", { requests: 1 }))).toBeNull();
});
