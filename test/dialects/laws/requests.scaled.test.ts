import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonMember, type JsonObject } from "../../../src/canon/json.ts";
import { normalRequest } from "./normal/request.ts";
import { NO_EDITS } from "./target.ts";
import { allowedAt } from "./arbitrary/conversations.ts";
import { requestFor } from "./arbitrary/requests.ts";
import { PROTOCOLS, type Protocol } from "./table.ts";
import { featuresUsed } from "./uses.ts";
import { fewOrMany } from "../../support/long.ts";

const RUNS = fewOrMany(90, 300);

/** Reads a body with the headers of the request that was printed. */
function readBy(
  { spoken }: Pick<Protocol, "spoken">,
  { headers }: { readonly headers: readonly string[] },
  body: JsonObject,
) {
  const version = headers.indexOf("anthropic-version");
  return spoken.read(body, { version: headers[version + 1] ?? null, betas: [] });
}

/** All objects in a value, itself among them. */
function objectsIn(value: JsonMember): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

/** Prints a request and reads it back as the same protocol's surface would. */
function there({ name, spoken, upstream, target }: Protocol, request: GenerateRequest) {
  const formatted = upstream.format(request, target);
  if ("code" in formatted)
    throw new Error(
      `${name} cannot format: ${formatted.code} ${formatted.param} ${formatted.message}`,
    );
  const read = readBy({ spoken }, formatted, formatted.body);
  if ("code" in read)
    throw new Error(
      `${name} does not read what it printed: ${read.code} ${read.param} ${read.message}`,
    );
  const canonical = spoken.surface.translation.toCanon(read, "reject", NO_EDITS);
  if ("code" in canonical)
    throw new Error(
      `${name} does not take in what it printed: ${canonical.code} ${canonical.param} ${canonical.message}`,
    );
  return { formatted, read, canonical };
}

describe.each(PROTOCOLS)("$name as a language for requests", (protocol) => {
  const arbitrary = requestFor(allowedAt(protocol.target));

  it("a printed request is read back unchanged, except for dropped fields", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { formatted, canonical } = there(protocol, request);
        const dropped = new Set([...formatted.dropped, ...canonical.dropped]);
        expect(normalRequest(canonical.request, dropped)).toEqual(normalRequest(request, dropped));
        expect(canonical.stripped).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it("a second printing gives the same request and drops nothing more", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const first = there(protocol, request);
        const second = there(protocol, first.canonical.request);
        expect(second.canonical.request).toEqual(first.canonical.request);
        const lost = new Set([...first.formatted.dropped, ...first.canonical.dropped]);
        expect(
          [...second.formatted.dropped, ...second.canonical.dropped].filter(
            (field) => !lost.has(field),
          ),
        ).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it("an unknown member anywhere in a request hides no feature and no need of the rest", () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(), (request, at) => {
        const { formatted, read } = there(protocol, request);
        const body = structuredClone(formatted.body);
        // A choice with a member that is unknown is the provider's to judge, as a whole.
        const objects = [body, ...objectsIn(Object.values({ ...body, tool_choice: null }))];
        Object.assign(objects[at % objects.length] ?? {}, { unheard_of: 1 });
        const again = readBy(protocol, formatted, body);
        if ("code" in again) return;
        expect(again.shape.features).toEqual(expect.arrayContaining([...read.shape.features]));
        expect(again.shape.needs).toEqual(expect.arrayContaining([...read.shape.needs]));
      }),
      { numRuns: 4 * RUNS },
    );
  });

  it("the surface finds in a printed request the features that its canon uses", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { read, canonical } = there(protocol, request);
        expect(read.shape.features).toEqual(featuresUsed(canonical.request));
      }),
      { numRuns: RUNS },
    );
  });

  it("a printed request requires only features of its target", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { shape } = there(protocol, request).read;
        expect(
          shape.features.filter(
            (feature) => !protocol.target.endpoint.nativeFeatures.includes(feature),
          ),
        ).toEqual([]);
        expect(
          shape.needs.filter((need) => !protocol.target.endpoint.capabilities.includes(need)),
        ).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

describe.each(PROTOCOLS.filter(({ target }) => target.endpoint.features.includes("count_tokens")))(
  "counting in $name",
  ({ upstream, target }) => {
    it("calls another path, with the same conversation, without generation", () => {
      fc.assert(
        fc.property(requestFor(allowedAt(target)), (request) => {
          const generate = upstream.format(request, target);
          const count = upstream.format({ ...request, purpose: "count" }, target);
          if ("code" in generate || "code" in count)
            throw new Error("a request that the target can take is refused");
          expect(count.path).not.toBe(generate.path);
          const made = Object.keys(count.body).filter((name) =>
            /stream|max_|stop|temperature|top_|store/.test(name),
          );
          expect(made).toEqual([]);
          for (const name of ["messages", "input", "tools", "system", "instructions"])
            expect(count.body[name], name).toEqual(generate.body[name]);
        }),
        { numRuns: RUNS / 3 },
      );
    });
  },
);
