import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { STARTING } from "../fixture.ts";
import { INTERPRETER, NEEDS } from "../python/interpreter.ts";
import { askPlainly, startMatrixFixture } from "./fixture.ts";
import { PROTOCOLS } from "./scripted/turns.ts";

const SCRIPT = join(import.meta.dirname, "python/matrix.py");

/** What the script says of one case on one surface. */
interface Result {
  readonly case: string;
  readonly surface: string;
  readonly statuses: readonly number[];
  readonly text?: string;
  readonly error?: string;
  readonly message?: string;
}

/** Case, statuses of all attempts, and what the client's error says. */
const CASES: readonly (readonly [string, readonly number[], RegExp])[] = [
  ["denied", [403], /Denied by policy data-retention@r1.*DATA_RETAINED/],
  ["spent", [402], /(?:budget_exhausted|exceeds_remaining_budget).*It renews at \d{4}-/],
  ["limited", [429, 429, 429], /concurrency/],
  ["unavailable", [503, 503, 503], /the provider is overloaded/],
  ["overflow", [400], /context_length_exceeded/],
  ["cut", [200], /the provider's answer ended before it was whole/],
];

const HELD = "held";

describe.skipIf(INTERPRETER === null)(
  `the official Python clients, refused or broken (${NEEDS})`,
  () => {
    const results: Result[] = [];

    beforeAll(async () => {
      const routes = CASES.flatMap(([name]) => PROTOCOLS.map((surface) => `${name}-${surface}`));
      const { url, key, provider } = await startMatrixFixture("chat", [...routes, HELD]);
      const keys = {
        denied: await key("regulated"),
        spent: await key("spent"),
        limited: await key("single"),
        unavailable: await key("everything"),
        overflow: await key("everything"),
        cut: await key("everything"),
      };
      let isOver = false;
      provider.play(HELD, "held", { isOver: () => isOver });
      for (const surface of PROTOCOLS) {
        provider.play(`unavailable-${surface}`, "unavailable");
        provider.play(`overflow-${surface}`, "overflow", { toolless: true });
        provider.play(`cut-${surface}`, "cut-always", { toolless: true });
      }
      // One request is under way for as long as the script runs.
      const other = askPlainly(url, keys.limited, HELD);
      while ((await askPlainly(url, keys.limited, "limited-chat")) !== 429);
      const { stdout } = await promisify(execFile)(INTERPRETER ?? "", [SCRIPT], {
        env: { ...process.env, SIGNALBOX_URL: url, SIGNALBOX_KEYS: JSON.stringify(keys) },
        timeout: 2 * STARTING,
      });
      isOver = true;
      await other;
      for (const line of stdout.trim().split("\n")) {
        const result: Result = JSON.parse(line);
        results.push(result);
      }
    }, 3 * STARTING);

    describe.each(CASES)("%s", (name, statuses, sentence) => {
      it.each(PROTOCOLS)(
        "retries where a retry may help, and reports the failure, on the surface %s",
        (surface) => {
          const result = results.find((row) => row.case === name && row.surface === surface);
          expect(result).toMatchObject({ statuses, message: expect.stringMatching(sentence) });
        },
      );
    });
  },
);
