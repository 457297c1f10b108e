import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import type { Endpoint } from "../../../src/http/contract/endpoint.ts";
import { EXAMPLE_ETAG, EXAMPLES } from "../../../src/http/contract/openapi.ts";
import { REQUEST_HEADERS } from "../../../src/http/contract/document/request-headers.ts";
import { pathOf, type Asking } from "../served.ts";
import { fromSchema } from "./from-schema.ts";
import { spoiled, spoilings, TEXTS } from "./spoil.ts";

/** Who calls: the key that fits, another, or what is none. */
export type Caller = "fitting" | "other" | "nobody" | "garbage" | "two";

export interface FuzzedRequest {
  readonly endpoint: Endpoint;
  readonly caller: Caller;
  readonly asking: Asking;
}

const callers: fc.Arbitrary<Caller> = fc.oneof(
  { weight: 16, arbitrary: fc.constant("fitting" as const) },
  { weight: 1, arbitrary: fc.constantFrom<Caller>("other", "nobody", "garbage", "two") },
);

/** Requests of an endpoint: many that are as the contract says, more that are not. */
export function requestsOf(endpoint: Endpoint): fc.Arbitrary<FuzzedRequest> {
  return fc
    .record({
      caller: callers,
      path: paths(endpoint),
      headers: headers(endpoint),
      body: bodies(endpoint),
    })
    .map(({ caller, path, headers: sent, body }) => ({
      endpoint,
      caller,
      asking: {
        method: endpoint.method,
        path,
        headers: { ...(body !== null && { "content-type": "application/json" }), ...sent },
        ...(body !== null && { body }),
      },
    }));
}

function bodies({ id, body }: Endpoint): fc.Arbitrary<string | Uint8Array<ArrayBuffer> | null> {
  if (body === null) return fc.constant(null);
  const examples = Object.values(EXAMPLES[id]?.requests ?? {});
  const values: fc.Arbitrary<JsonValue> = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<JsonValue>(...examples) },
    { weight: 1, arbitrary: fromSchema(body) },
    // What an example says, with members of the schema beside it: most of these get to a provider.
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...examples), fromSchema(body))
        .map(([example, more]) => beside(example, more)),
    },
  );
  const written = fc
    .tuple(values, fc.oneof(fc.constant([]), spoilings))
    .map(([value, done]) => JSON.stringify(spoiled(value, done)));
  const broken = fc.tuple(written, fc.constantFrom(...TEXTS)).map(([json, spoil]) => spoil(json));
  return fc.oneof({ weight: 12, arbitrary: written }, { weight: 1, arbitrary: broken });
}

function beside(example: JsonObject, more: JsonValue): JsonValue {
  return isJsonObject(more) ? { ...more, ...example } : example;
}

function paths(endpoint: Endpoint): fc.Arbitrary<string> {
  const { parameters = {} } = EXAMPLES[endpoint.id] ?? {};
  const described = { ...endpoint.query, ...endpoint.optionalQuery };
  const odd = fc.constantFrom(
    "",
    "0",
    "-1",
    "1e3",
    "true",
    "a,b",
    "%00",
    "../x",
    "ü",
    "x".repeat(500),
    "candidate",
    "data-retention",
    "chat-small",
  );
  const valueOf = (schema: JsonObject): fc.Arbitrary<string> =>
    fc.oneof(
      odd,
      fromSchema(schema).map((value) =>
        typeof value === "string" ? value : JSON.stringify(value),
      ),
    );
  const drawn = Object.entries(described).map(([name, schema]) =>
    fc.option(
      valueOf(schema).map((value) => [name, value] as const),
      { nil: null },
    ),
  );
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
    fc
      .oneof(
        fc.constant(parameters[name] ?? "x"),
        odd.filter((text) => text !== ""),
      )
      .map((value) => [name, value] as const),
  );
  return fc
    .tuple(
      fc.constantFrom("as shown", "drawn", "drawn", "unknown"),
      fc.tuple(...drawn),
      fc.tuple(...inPath),
    )
    .map(([way, values, names]) => {
      const query =
        way === "as shown" ? Object.entries(parameters) : values.filter((value) => value !== null);
      const more = way === "unknown" ? [["unknown", "1"] as const] : [];
      return pathOf(endpoint, Object.fromEntries([...query, ...more, ...names]));
    });
}

/** Characters that a client's library lets through in a header. */
const printable = fc.stringMatching(/^[!-~]{0,40}$/);

function headers(endpoint: Endpoint): fc.Arbitrary<Readonly<Record<string, string>>> {
  const rows = REQUEST_HEADERS.filter(({ isReadBy }) => isReadBy(endpoint)).map(
    ({ name, schema }) => {
      const fitting = fromSchema(schema).map((value) =>
        typeof value === "string" ? value.replaceAll(/[^!-~]/g, "x") : JSON.stringify(value),
      );
      // Short enough deadlines are met in the middle of an answer; one of a second is met by none.
      const value =
        name === "If-Match"
          ? fc.oneof(
              fc.constantFrom(EXAMPLE_ETAG, "*", `W/${EXAMPLE_ETAG}`, `${EXAMPLE_ETAG}, "x"`),
              printable,
            )
          : name === "x-request-timeout-ms"
            ? fc.constantFrom("1", "5", "60000", "0", "x")
            : fc.oneof(fitting, printable);
      return fc.tuple(fc.constant(name), value);
    },
  );
  const others = fc.tuple(
    fc.constantFrom(
      "content-type",
      "accept",
      "content-encoding",
      "x-unknown",
      "if-none-match",
      "range",
    ),
    fc.constantFrom(
      "application/json",
      "text/plain",
      "text/event-stream",
      "gzip",
      "*/*",
      "application/x-www-form-urlencoded",
      "bytes=0-1",
    ),
  );
  return fc
    .tuple(
      fc.subarray(rows, { maxLength: Math.min(2, rows.length) }),
      fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: others }),
    )
    .chain(([chosen, other]) => fc.tuple(fc.tuple(...chosen), fc.constant(other)))
    .map(([sent, other]) => Object.fromEntries([...sent, ...(other === null ? [] : [other])]));
}
