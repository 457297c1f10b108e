import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { ask } from "./ask.ts";
import { COLUMNS } from "./columns.ts";
import type { Fault } from "./faults.ts";
import { judge, type Undamaged } from "./judge.ts";
import { startRawUpstream, WAYS, type RawUpstream } from "./raw-upstream.ts";
import { chaosRoutes, spareRoute, type Cell } from "./routes.ts";
import { inParallel, recordProblems, type Played } from "./run.ts";
import { freePort } from "../support/ports.ts";

/** Every column whose upstream speaks chat completions or the embeddings beside them. */
const OVER_CHAT = COLUMNS.filter(
  ({ dialect, surface }) =>
    dialect === "openai-chat" &&
    (surface.operation === "generate" || surface.operation === "embed"),
);

/** Cells under way at once; most of them wait for a provider that says nothing. */
const AT_ONCE = 96;

/** A provider without a listener. */
const NOBODY = "nobody";
const NAMES = [...WAYS.map(({ name }) => name), NOBODY];

const CELLS: readonly Cell[] = NAMES.flatMap((name) =>
  OVER_CHAT.flatMap((column) =>
    [false, true].map((hasFallback): Cell => {
      const way = WAYS.find((known) => known.name === name);
      const fault: Fault = {
        name,
        settings: [],
        alone: way?.alone(column.stream) ?? "failed",
        withFallback: way?.withFallback(column.stream) ?? "whole",
        silent: true,
        repeats: false,
        losesUsage: false,
      };
      return {
        id: `${name}.${column.id}${hasFallback ? ".saved" : ""}`,
        column,
        fault,
        hasFallback,
      };
    }),
  ),
);

const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const VECTOR = [0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0];

function answerTo(request: string): { readonly body: string; readonly type: string } {
  const body = bodyFor(request);
  return { body, type: body.startsWith("data:") ? "text/event-stream" : "application/json" };
}

function bodyFor(request: string): string {
  if (request.includes('"input"')) {
    const data = [0, 1, 2].map((index) => ({ object: "embedding", index, embedding: VECTOR }));
    return JSON.stringify({
      object: "list",
      model: "answer",
      data,
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
  }
  const message = { role: "assistant", content: "the whole answer" };
  if (!request.includes('"stream":true')) {
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices,
      usage: USAGE,
    });
  }
  const common = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunk = (delta: object, finish: string | null): object => ({
    ...common,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const said = message.content.split(/(?= )/).map((content) => chunk({ content }, null));
  const events = [chunk({ role: "assistant", content: "" }, null), ...said, chunk({}, "stop")];
  const all = [...events, { ...common, choices: [], usage: USAGE }].map(
    (event) => `data: ${JSON.stringify(event)}\n\n`,
  );
  return `${all.join("")}data: [DONE]\n\n`;
}

let mock: MockServer;
let raw: RawUpstream;
let server: TestServer;
let key: string;
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);
const undamaged = new Map<string, Undamaged>();
let played: readonly Played[] = [];

beforeAll(async () => {
  process.on("unhandledRejection", note);
  process.on("uncaughtExceptionMonitor", note);
  mock = await startMock({ host: "127.0.0.1", port: 0 });
  raw = await startRawUpstream(answerTo);
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const addresses = Object.fromEntries(
    NAMES.map((name) => [name, `${name === NOBODY ? nobody : raw.url}/${name}`]),
  );
  server = await startTestServer(() => JSON.stringify(chaosRoutes(mock.url, CELLS, addresses)));
  key = await server.key("chaos", ["inference"], { expiresAt: Date.now() + 600_000 });
  const { url } = server.server;
  for (const column of OVER_CHAT) {
    const [own, spare] = [
      await ask(url, key, column, `well.${column.id}`),
      await ask(url, key, column, spareRoute(column)),
    ];
    undamaged.set(column.id, { own, spare });
  }
  played = await inParallel(CELLS, AT_ONCE, async (cell) => ({
    cell,
    answer: await ask(url, key, cell.column, cell.id),
  }));
}, 90_000);

afterAll(async () => {
  process.off("unhandledRejection", note);
  process.off("uncaughtExceptionMonitor", note);
  await mock.close();
  await raw.close();
});

describe.each(NAMES)("a provider: %s", (name) => {
  it("is answered whole or with a visible failure, and the record agrees", async () => {
    const { store } = server.server;
    await store.evidence.flush();
    const wrong: string[] = [];
    for (const one of played.filter(({ cell }) => cell.fault.name === name)) {
      const { cell, answer } = one;
      const whole = undamaged.get(cell.column.id);
      if (whole === undefined) throw new Error("no undamaged answer");
      const requestId = answer.headers["x-request-id"] ?? "";
      const entries = await store.evidence.read({ after: 0, limit: 10, requestId });
      for (const problem of [...judge(cell, answer, whole), ...recordProblems(one, entries)]) {
        wrong.push(`${cell.id}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("all requests together", () => {
  it("are answered whole where there is no fault", () => {
    for (const { own, spare } of undamaged.values()) {
      expect(own).toMatchObject({ status: 200, seen: { end: "whole", problems: [] } });
      expect(spare).toMatchObject({ status: 200, seen: { end: "whole", problems: [] } });
    }
  });

  it("leave no connection with an incomplete answer open", async () => {
    expect(raw.connections()).toBeGreaterThan(WAYS.length);
    const end = performance.now() + 2_000;
    while (raw.busy().length > 0 && performance.now() < end) {
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
    expect(raw.busy()).toEqual([]);
    for (const { limiter, provider } of server.server.built.snapshot.connections.values()) {
      expect(limiter.inFlight, provider.id).toBe(0);
    }
  });

  it("leave no unhandled rejection or exception", () => {
    expect(unhandled).toEqual([]);
  });
});
