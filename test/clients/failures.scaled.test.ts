import { beforeAll, describe, expect, it } from "vitest";
import { CALLERS } from "./callers/all.ts";
import { everythingSaid, openSession, statusOf, thrownBy, type Caller } from "./callers/caller.ts";
import {
  ROUTES,
  STARTING,
  startFixture,
  UPSTREAM_TEXT,
  variantOf,
  type Fixture,
  type Route,
  type Variant,
} from "./fixture.ts";
import { fewOrMany } from "../support/long.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

/** What breaks after the client has seen text, and what the client gets of it. */
const BREAKS: readonly (readonly [Variant, RegExp])[] = [
  ["cut", /the provider's answer ended before it was whole/],
  ["reset", /the provider closed the connection|the provider's answer ended before it was whole/],
  ["malformed", /the provider's answer does not conform to its protocol/],
  ["error-frame", /the provider (?:reported an error in its answer|failed)/],
];

/**
 * What the provider says before the first byte, and what becomes of it. Its 401 is about our
 * credentials, not the caller's.
 */
const REFUSALS: readonly (readonly [Variant, number, RegExp])[] = [
  ["unauthorised", 502, /the provider refused the router's credentials/],
  ["broken", 502, /the provider failed/],
  ["limited", 429, /the provider's rate limit is exhausted/],
  ["unwilling", 400, /The provider refused the request as invalid/],
  ["cut-at-once", 502, /the provider's answer/],
];

const VARIANTS = [...BREAKS, ...REFUSALS].map(([variant]) => variant);

/**
 * The routes that a caller tries a variant over: one, another for the next caller and the next
 * variant; all of them in `npm run test:long`.
 */
function routesFor(caller: Caller, variant: Variant): readonly Route[] {
  const first = (CALLERS.indexOf(caller) + VARIANTS.indexOf(variant)) % ROUTES.length;
  return fewOrMany(ROUTES.slice(first, first + 1), ROUTES);
}

describe.concurrent.each(CALLERS)("$name", (caller) => {
  for (const [variant, sentence] of BREAKS) {
    it.each(routesFor(caller, variant))(
      `ends with an error where the provider's stream breaks (${variant}), over the route %s`,
      async (route) => {
        const session = openSession(fixture, { retries: 0 });
        if (caller.deafToFailures === true) {
          expect((await caller.stream(session, variantOf(route, variant))).finish).toBeNull();
          return;
        }
        const error = await thrownBy(caller.stream(session, variantOf(route, variant)));
        expect(everythingSaid(error)).toMatch(sentence);
        expect(everythingSaid(error)).not.toMatch(UPSTREAM_TEXT);
        expect(session.sent).toHaveLength(1);
      },
    );
  }

  for (const [variant, status, sentence] of REFUSALS) {
    it.each(routesFor(caller, variant))(
      `gets our text and never the provider's (${variant}), over the route %s`,
      async (route) => {
        const session = openSession(fixture, { retries: 0 });
        for (const ask of [caller.whole, caller.stream]) {
          const error = await thrownBy(ask(session, variantOf(route, variant)));
          expect(statusOf(error)).toBe(status);
          expect(everythingSaid(error)).toMatch(sentence);
          expect(everythingSaid(error)).not.toMatch(UPSTREAM_TEXT);
        }
        expect(session.sent).toHaveLength(2);
      },
    );
  }
});
