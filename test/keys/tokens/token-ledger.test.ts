import fc from "fast-check";
import { expect, it } from "vitest";

import type { TokenCeilings } from "../../../src/canon/credentials/narrowing.ts";
import { TokenLedger } from "../../../src/keys/tokens/token-ledger.ts";

const narrowed = (tokenId: string, ceilings: Partial<TokenCeilings>) => ({
  tokenId,
  operations: null,
  routes: null,
  origin: null,
  ceilings: { requests: null, tokens: null, ...ceilings },
});

it("lets in as many requests as the ceiling says, and none once the tokens are spent, whatever the order", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.oneof(fc.constant("take" as const), fc.integer({ min: 0, max: 20 }))),
      (requests, tokens, steps) => {
        const ledger = new TokenLedger();
        const token = narrowed("t", { requests, tokens });
        let [started, spent] = [0, 0];
        for (const step of steps) {
          if (step !== "take") {
            ledger.spend("t", step);
            if (started > 0) spent += step;
          } else if (started >= requests) expect(ledger.take(token, 1_000, 0)).toBe("requests");
          else if (spent >= tokens) expect(ledger.take(token, 1_000, 0)).toBe("tokens");
          else {
            expect(ledger.take(token, 1_000, 0)).toBeNull();
            started += 1;
          }
        }
      },
    ),
  );
});

it("keeps tokens apart, and counts nothing for those without ceilings", () => {
  const ledger = new TokenLedger();
  expect(ledger.take(narrowed("a", { requests: 1 }), 1_000, 0)).toBeNull();
  expect(ledger.take(narrowed("b", { requests: 1 }), 1_000, 0)).toBeNull();
  expect(ledger.take(narrowed("a", { requests: 1 }), 1_000, 0)).toBe("requests");
  for (let count = 0; count < 10; count += 1) expect(ledger.take(narrowed("c", {}), 1_000, 0)).toBeNull();
});

it("full, it refuses new tokens in place of forgetting what others have used; expired ones make room", () => {
  const ledger = new TokenLedger();
  for (let count = 0; count < 200_000; count += 1) ledger.take(narrowed(`t${count}`, { requests: 1 }), 1_000, 0);
  expect(ledger.take(narrowed("new", { requests: 1 }), 2_000, 999)).toBe("requests");
  expect(ledger.take(narrowed("t0", { requests: 1 }), 1_000, 999)).toBe("requests");
  expect(ledger.take(narrowed("new", { requests: 1 }), 2_000, 1_000)).toBeNull();
});
