import { beforeAll, describe, expect, it } from "vitest";
import { CALLERS } from "./callers/all.ts";
import { openSession, type Reported } from "./callers/caller.ts";
import { ROUTES, STARTING, startFixture, variantOf, type Fixture, type Route } from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

/**
 * What the simulated providers count for one short question; the legacy protocol has no role to
 * count.
 */
const USAGE: Readonly<Record<Route, Reported["usage"]>> = {
  chat: [6, 8],
  legacy: [2, 8],
  responses: [6, 8],
  messages: [6, 8],
  gemini: [6, 8],
  converse: [16, 8],
  cohere: [6, 8],
};

/** Protocols that know no end by a content filter. */
const UNFILTERED: readonly Route[] = ["cohere"];

describe.concurrent.each(CALLERS)("$name", (caller) => {
  it.each(ROUTES)(
    "gets the same answer whole and streamed over the route %s, with one request each",
    async (route) => {
      const session = openSession(fixture);
      const whole = await caller.whole(session, route);
      expect(whole).toEqual({
        text: expect.stringMatching(new RegExp(`^Simulated answer from simulated-${route} to `)),
        finish: caller.finishReasons.stop,
        usage: USAGE[route],
      });
      expect(await caller.stream(session, route)).toEqual({
        ...whole,
        usage: caller.countsStreams ? whole.usage : null,
      });
      expect(session.sent).toHaveLength(2);
    },
  );

  it.each(ROUTES)(
    "reports with its own finish reason that an answer is cut short, over the route %s",
    async (route) => {
      const session = openSession(fixture);
      for (const ask of [caller.whole, caller.stream]) {
        expect(await ask(session, variantOf(route, "short"))).toMatchObject({
          finish: caller.finishReasons.length,
        });
        if (UNFILTERED.includes(route)) continue;
        expect(await ask(session, variantOf(route, "filtered"))).toMatchObject({
          finish: caller.finishReasons.filtered,
        });
      }
    },
  );
});
