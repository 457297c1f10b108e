import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import { normalRequest } from "./normal/request.ts";
import { NO_EDITS } from "./target.ts";
import { allowedAt } from "./arbitrary/conversations.ts";
import { requestFor } from "./arbitrary/requests.ts";
import { PROTOCOLS, type Protocol } from "./table.ts";
import { featuresUsed } from "./uses.ts";
import { fewOrMany } from "../../support/long.ts";

const RUNS = fewOrMany(90, 300);

/** Prints a request and reads it back as the same protocol's surface would. */
function there({ name, spoken, upstream, target }: Protocol, request: GenerateRequest) {
  const formatted = upstream.format(request, target);
  if ("code" in formatted)
    throw new Error(
      `${name} cannot format: ${formatted.code} ${formatted.param} ${formatted.message}`,
    );
  const version = formatted.headers.indexOf("anthropic-version");
  const read = spoken.read(formatted.body, {
    version: formatted.headers[version + 1] ?? null,
    betas: [],
  });
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
