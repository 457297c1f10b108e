import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { CONVERSING, STARTING, startFixture, type Route } from "./fixture.ts";
import { INTERPRETER, NEEDS } from "./python/interpreter.ts";

const SCRIPT = join(import.meta.dirname, "python/clients.py");

/** What the script reports of one case; the members depend on the case. */
type Result = Readonly<Record<string, unknown>>;

const ANSWERS: readonly (readonly [string, string])[] = [
  ["chat whole", "stop"],
  ["chat stream", "stop"],
  ["chat helper", "stop"],
  ["completions whole", "stop"],
  ["completions stream", "stop"],
  ["responses whole", "completed"],
  ["responses stream", "completed"],
  ["messages whole", "end_turn"],
  ["messages stream", "end_turn"],
];

const LOOPS: readonly (readonly [string, string])[] = [
  ["chat tools", "stop"],
  ["responses tools", "completed"],
  ["messages tools", "end_turn"],
];

describe.skipIf(INTERPRETER === null)(`the official Python clients (${NEEDS})`, () => {
  const results = new Map<string, Result>();

  beforeAll(async () => {
    const { url, key, regulatedKey } = await startFixture();
    const { stdout } = await promisify(execFile)(INTERPRETER ?? "", [SCRIPT, ...CONVERSING], {
      env: {
        ...process.env,
        SIGNALBOX_URL: url,
        SIGNALBOX_KEY: key,
        SIGNALBOX_REGULATED_KEY: regulatedKey,
      },
      timeout: 2 * STARTING,
    });
    for (const line of stdout.trim().split("\n")) {
      const result: Result = JSON.parse(line);
      results.set(`${String(result.case)} over ${String(result.route)}`, result);
    }
  }, 3 * STARTING);

  function resultOf(name: string, route: Route): Result {
    const result = results.get(`${name} over ${route}`);
    if (result === undefined)
      throw new Error(`the script reported nothing of ${name} over ${route}`);
    return result;
  }

  describe.each(CONVERSING)("over the route %s", (route) => {
    it.each(ANSWERS)(
      "%s: a text and its finish reason arrive after one request",
      (name, finish) => {
        expect(resultOf(name, route)).toMatchObject({
          text: expect.stringMatching(/\w/),
          finish,
          requests: 1,
        });
      },
    );

    it.each(LOOPS)("%s: two tool calls and the final text take three requests", (name, finish) => {
      expect(resultOf(name, route)).toMatchObject({
        text: expect.stringMatching(/the result of a tool/),
        finish,
        calls: 2,
        requests: 3,
      });
    });

    it.each(["chat denied", "responses denied", "messages denied"])(
      "%s: one request, and the error names policy, rule and reason",
      (name) => {
        expect(resultOf(name, route)).toMatchObject({
          error: "PermissionDeniedError",
          status: 403,
          message: expect.stringMatching(/data-retention@r1.*nothing_kept.*DATA_RETAINED/),
          requests: 1,
        });
      },
    );

    it.each([
      ["chat broken", "APIError"],
      ["responses broken", "response.failed"],
      ["messages broken", "APIStatusError"],
    ])("%s: a stream that breaks ends with an error", (name, error) => {
      expect(resultOf(name, route)).toMatchObject({
        error,
        message: expect.stringMatching(/the provider's answer ended before it was whole/),
        requests: 1,
      });
    });

    it("counts tokens where the protocol can", () => {
      const counts = route !== "chat";
      expect(resultOf("count_tokens", route)).toMatchObject(
        counts ? { tokens: expect.any(Number) } : { error: "BadRequestError", status: 400 },
      );
    });
  });
});
