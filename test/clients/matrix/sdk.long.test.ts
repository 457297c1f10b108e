import { beforeAll, describe, expect, it } from "vitest";
import { CALLERS } from "../callers/all.ts";
import {
  everythingSaid,
  statusOf,
  thrownBy,
  type Caller,
  type Session,
  type Reported,
} from "../callers/caller.ts";
import { STARTING } from "../fixture.ts";
import {
  askPlainly,
  startMatrixFixture,
  type MatrixFixture,
  type WorkspaceName,
} from "./fixture.ts";
import type { Script } from "./scripted/provider.ts";

/** Ways to ask. */
const MODES = ["whole", "stream"] as const;
type Mode = (typeof MODES)[number];

/** Every test has a route of its own, so that all can run side by side. */
const CASES = ["spent", "held", "limited", "unavailable", "overflow", "cut"] as const;

const routeOf = (name: (typeof CASES)[number], caller: Caller, mode: Mode): string =>
  `${name}-${CALLERS.indexOf(caller)}-${mode}`;

let fixture: MatrixFixture;

beforeAll(async () => {
  const routes = CASES.flatMap((name) =>
    CALLERS.flatMap((caller) => MODES.map((mode) => routeOf(name, caller, mode))),
  );
  fixture = await startMatrixFixture("chat", routes);
}, STARTING);

/** How many failures a client survives by itself, as its library ships. */
function retriesOf({ name }: Caller): number {
  return name.startsWith("@langchain") ? 6 : 2;
}

interface Counted {
  readonly session: Session;
  readonly statuses: number[];
}

/**
 * A client as its library ships, but for the waits between its requests. @param refused runs after
 * every 429.
 */
function openCounted(key: string, refused: () => Promise<void> = () => Promise.resolve()): Counted {
  const statuses: number[] = [];
  const hurried = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const answer = await fetch(input, init);
    statuses.push(answer.status);
    if (answer.ok) return answer;
    if (answer.status === 429) await refused();
    const headers = new Headers(answer.headers);
    headers.set("retry-after-ms", "1");
    return new Response(await answer.text(), { status: answer.status, headers });
  };
  const session = {
    url: fixture.url,
    key,
    retries: undefined,
    sent: [],
    headers: [],
    bodies: [],
    fetch: hurried,
  };
  return { session, statuses };
}

async function failed(
  caller: Caller,
  mode: Mode,
  name: (typeof CASES)[number],
  workspace: WorkspaceName,
  script: Script,
) {
  const route = routeOf(name, caller, mode);
  fixture.provider.play(route, script, { toolless: true });
  const { session, statuses } = openCounted(await fixture.key(workspace));
  const error = await thrownBy(caller[mode](session, route));
  return { error, statuses };
}

describe.concurrent.each(CALLERS)("$name", (caller) => {
  it.each(MODES)(
    "reports a spent budget after one request, with the time of its renewal (%s)",
    async (mode) => {
      const { error, statuses } = await failed(caller, mode, "spent", "spent", "plain");
      expect(statuses).toEqual([402]);
      expect(statusOf(error)).toBe(402);
      expect(everythingSaid(error)).toMatch(
        /(?:budget_exhausted|exceeds_remaining_budget).*It renews at \d{4}-/s,
      );
    },
  );

  it.each(MODES)("waits for the end of a rate limit and is answered (%s)", async (mode) => {
    const key = await fixture.key("single");
    const [held, route] = [routeOf("held", caller, mode), routeOf("limited", caller, mode)];
    let isOver = false;
    fixture.provider.play(held, "held", { isOver: () => isOver });
    const other = askPlainly(fixture.url, key, held);
    // The other request has the key's only slot when this one is refused.
    while ((await askPlainly(fixture.url, key, route)) !== 429);
    const { session, statuses } = openCounted(key, async () => {
      isOver = true;
      await other;
      while ((await askPlainly(fixture.url, key, route)) !== 200);
    });
    const reported: Reported = await caller[mode](session, route);
    expect(statuses).toEqual([429, 200]);
    expect(reported.text).toContain("Everything has been written.");
  });

  it.each(MODES)("reports an unavailable provider after three answers (%s)", async (mode) => {
    const route = routeOf("unavailable", caller, mode);
    const { session, statuses } = openCounted(await fixture.key("everything"));
    fixture.provider.play(route, "unavailable", { isOver: () => statuses.length >= 3 });
    const outcome: unknown = await caller[mode](session, route).catch((error: unknown) => error);
    if (retriesOf(caller) > 2) {
      expect(statuses).toEqual([503, 503, 503, 200]);
      expect(outcome).toMatchObject({
        text: expect.stringContaining("Everything has been written."),
      });
    } else {
      expect(statuses).toEqual([503, 503, 503]);
      expect(everythingSaid(outcome)).toMatch(/the provider is overloaded/);
    }
  });

  it.each(MODES)("reports a conversation that is too long after one request (%s)", async (mode) => {
    const { error, statuses } = await failed(caller, mode, "overflow", "everything", "overflow");
    expect(statuses).toEqual([400]);
    expect(everythingSaid(error)).toMatch(
      /context_length_exceeded.*prompt is too long.*maximum context length is/s,
    );
    // LangChain has an error of its own for it, without the status.
    if (error.name !== "ContextOverflowError") expect(statusOf(error)).toBe(400);
  });

  it("does not repeat a stream that ends in the middle", async () => {
    const route = routeOf("cut", caller, "stream");
    fixture.provider.play(route, "cut-always", { toolless: true });
    const { session, statuses } = openCounted(await fixture.key("everything"));
    if (caller.deafToFailures === true)
      expect((await caller.stream(session, route)).finish).toBeNull();
    else
      expect(everythingSaid(await thrownBy(caller.stream(session, route)))).toMatch(/the provider/);
    expect(statuses).toEqual([200]);
  });
});
