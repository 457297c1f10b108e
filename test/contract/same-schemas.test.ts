import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { EXAMPLES } from "../../src/http/contract/examples/examples.ts";
import { bodyValidator } from "../../src/http/contract/validate.ts";
import { requestFaults } from "./contract.ts";
import { fromSchema } from "./fuzz/from-schema.ts";
import { spoiled, spoilings } from "./fuzz/spoil.ts";

describe("a body is right by the document exactly when the server takes it:", () => {
  const withBody = ENDPOINTS.flatMap((endpoint) => (endpoint.body === null ? [] : [{ endpoint, body: endpoint.body }]));
  it.each(withBody)("$endpoint.id", { timeout: 60_000 }, ({ endpoint, body }) => {
    const validate = bodyValidator(body);
    const counts = { right: 0, wrong: 0 };
    const examples = fc.constantFrom(...Object.values(EXAMPLES[endpoint.id]?.requests ?? {}));
    const values = fc.tuple(fc.oneof(examples, fromSchema(body)), fc.oneof(fc.constant([]), spoilings));
    fc.assert(
      fc.property(values, ([value, done]) => {
        const one = spoiled(value, done);
        const refusal = validate(one);
        // Said of no schema: how deep a body may be.
        if (refusal?.code === "too_deeply_nested") return;
        const isRight = requestFaults(endpoint, one).length === 0;
        counts[isRight ? "right" : "wrong"] += 1;
        expect(refusal === null, JSON.stringify(one)).toBe(isRight);
      }),
      { numRuns: 150 },
    );
    expect(Math.min(counts.right, counts.wrong)).toBeGreaterThan(0);
  });
});
