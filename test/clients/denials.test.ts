import { beforeAll, describe, expect, it } from "vitest";
import { CALLERS } from "./callers/all.ts";
import { openSession, statusOf, thrownBy } from "./callers/caller.ts";
import { ROUTES, STARTING, startFixture, type Fixture } from "./fixture.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, STARTING);

// No client's retries are touched here: what they repeat by default is what is tested.
describe.concurrent.each(CALLERS)("$name", (caller) => {
  it.each(ROUTES)(
    "gets a denial after one request with the whole message, over the route %s",
    async (route) => {
      for (const ask of [caller.whole, caller.stream]) {
        const session = openSession(fixture, { key: fixture.regulatedKey });
        const error = await thrownBy(ask(session, route));
        expect(session.sent).toHaveLength(1);
        expect(statusOf(error)).toBe(403);
        expect(error.message).toMatch(
          new RegExp(`data-retention@r1.*nothing_kept.*DATA_RETAINED.*${route}-endpoint`),
        );
      }
    },
  );

  it("gets a 404 after one request for a route that does not exist", async () => {
    for (const ask of [caller.whole, caller.stream]) {
      const session = openSession(fixture);
      const error = await thrownBy(ask(session, "no-such-route"));
      expect(session.sent).toHaveLength(1);
      expect(statusOf(error)).toBe(404);
      expect(error.message).toMatch(/no-such-route|model/);
    }
  });

  it("gets a 401 after one request for a key that does not exist", async () => {
    for (const ask of [caller.whole, caller.stream]) {
      const session = openSession(fixture, { key: "sbx_production_nobody_nothing" });
      const error = await thrownBy(ask(session, "chat"));
      expect(session.sent).toHaveLength(1);
      expect(statusOf(error)).toBe(401);
      expect(error.message).not.toContain("nobody");
    }
  });
});
