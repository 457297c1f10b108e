import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonValue } from "../../src/canon/json.ts";
import { bodyOf } from "../../src/http/control/control-call.ts";
import type { CREATE_KEY_SCHEMA } from "../../src/http/contract/key-schemas.ts";
import { readNewKey, readRotation } from "../../src/http/control/service-keys/key-page.ts";
import { NO_HEADERS } from "../dialects/laws/target.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { EXAMPLES } from "../../src/http/contract/openapi.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { requestFaults } from "./contract.ts";
import { refusedOr } from "../support/refusals.ts";
import { fromSchema } from "./fuzz/from-schema.ts";
import { spoiled, spoilings } from "./fuzz/spoil.ts";

/** Whether what reads a validated body takes it, on a route that refuses unknown members. */
function isRead(endpoint: (typeof ENDPOINTS)[number], body: JsonValue): boolean {
  if (!isJsonObject(body)) return false;
  if (endpoint.kind === "inference") {
    const request = endpoint.surface.parse(body, 100, NO_HEADERS);
    return !("code" in request) && endpoint.surface.refuseUnknown(body, "reject") === null;
  }
  const created = bodyOf<typeof CREATE_KEY_SCHEMA>({ body: { value: body, bytes: 0 } });
  if (endpoint.id === "createKey")
    return !("code" in refusedOr(() => readNewKey(created, "w", "k", 0)));
  return endpoint.id !== "rotateKey" || !("code" in refusedOr(() => readRotation(body, "k", 0)));
}

describe("a body is valid by the document exactly when the server accepts it:", () => {
  const withBody = ENDPOINTS.flatMap((endpoint) =>
    endpoint.body === null ? [] : [{ endpoint, body: endpoint.body }],
  );
  it.each(withBody)("$endpoint.id", { timeout: 60_000 }, ({ endpoint, body }) => {
    const validate = bodyValidator(body);
    const counts = { right: 0, wrong: 0 };
    const examples = fc.constantFrom(...Object.values(EXAMPLES[endpoint.id]?.requests ?? {}));
    const values = fc.tuple(
      fc.oneof(examples, fromSchema(body)),
      fc.oneof(fc.constant([]), spoilings),
    );
    fc.assert(
      fc.property(values, ([value, done]) => {
        const one = spoiled(value, done);
        const refusal = validate(one);
        // Said of no schema: how deep a body may be.
        if (refusal?.code === "too_deeply_nested") return;
        const isRight = requestFaults(endpoint, one).length === 0;
        counts[isRight ? "right" : "wrong"] += 1;
        // What the validator refuses the document refuses; what the whole server takes the document
        // takes. Between the two are the parser's rules.
        if (refusal !== null) expect(isRight, JSON.stringify(one)).toBe(false);
        else if (isRead(endpoint, one)) expect(isRight, JSON.stringify(one)).toBe(true);
      }),
      { numRuns: 150 },
    );
    expect(Math.min(counts.right, counts.wrong)).toBeGreaterThan(0);
  });
});
