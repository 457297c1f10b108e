import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { SCOPES } from "../../../src/canon/identity.ts";
import { startTestServer } from "../../support/server.ts";

const LOCAL = resolve(import.meta.dirname, "../../../.signalbox/python/bin/schemathesis");

/** The program; `null` where there is none. */
const program = process.env.SIGNALBOX_SCHEMATHESIS ?? (existsSync(LOCAL) ? LOCAL : null);

const NEEDS =
  "needs SIGNALBOX_SCHEMATHESIS or .signalbox/python, with test/contract/schemathesis/requirements.txt installed";

/** How long it looks; it goes round until the time is up. */
const SECONDS = Number(process.env.SIGNALBOX_SCHEMATHESIS_SECONDS ?? 30);

/** For a hang, not for a slow machine; milliseconds. */
const TIMEOUT = SECONDS * 1_000 + 120_000;

/** Checks of Schemathesis that are not made, and why. */
const LEFT_OUT: readonly string[] = [
  // What matches a schema can still name a route, a key or a digest that is not there, or request
  // what a route does not have: a 400 that says so.
  "positive_data_acceptance",
  // It expects 405; here another method is a 404, as an unknown path is
  // (docs/api.md#errors-by-code).
  "unsupported_method",
];

/** Paths that are not called, and why; test/contract/fuzz calls them all. */
const NOT_ASKED: readonly string[] = [
  // On the admin listener, which is another address.
  "/livez",
  "/readyz",
  "/metrics",
  // "Schemathesis does not support this part": what each type of content block needs, said with
  // `if` and `then`.
  "/api/v1/messages",
  "/api/v1/messages/count_tokens",
];

/**
 * Requests that have to end before they can be decided get a 503 or 504, which it takes for a
 * fault.
 */
const SETTINGS = `[parameters]
"header.x-request-timeout-ms" = "60000"
`;

interface Ran {
  readonly code: number;
  readonly output: string;
}

function run(file: string, parameters: readonly string[], cwd: string): Promise<Ran> {
  return new Promise((settle) => {
    execFile(
      file,
      [...parameters],
      { cwd, timeout: TIMEOUT, maxBuffer: 32_000_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        settle({ code, output: `${stdout}${stderr}` });
      },
    );
  });
}

describe.skipIf(program === null)(`Schemathesis (${NEEDS})`, () => {
  it(
    "reports no failure of a server with simulated providers",
    { timeout: TIMEOUT + 60_000 },
    async () => {
      // What limits allow would be used up at once, and nothing behind them would be seen any more.
      const started = await startTestServer((routes) =>
        routes.replace(/\n {4}limits: \{ requests_per_minute: 600.*\}/, ""),
      );
      const { server } = started;
      const bearer = await started.key("demo", SCOPES, { expiresAt: Date.now() + 3_600_000 });
      const folder = mkdtempSync(join(tmpdir(), "signalbox-schemathesis-"));
      writeFileSync(join(folder, "schemathesis.toml"), SETTINGS);
      const parameters = [
        [
          "--config-file",
          "schemathesis.toml",
          "run",
          `${server.url}/openapi.json`,
          "--url",
          server.url,
        ],
        ["-H", `Authorization: Bearer ${bearer}`],
        NOT_ASKED.flatMap((path) => ["--exclude-path", path]),
        ["--exclude-checks", LEFT_OUT.join(",")],
        [
          "--phases",
          "examples,fuzzing",
          "--max-examples",
          "25",
          "--max-time",
          String(SECONDS),
          "--continue-on-failure",
        ],
        [
          "--request-timeout",
          "20",
          "--no-shrink",
          "--suppress-health-check",
          "all",
          "--warnings",
          "off",
        ],
      ].flat();
      const { code, output } = await run(program ?? "", parameters, folder);
      rmSync(folder, { recursive: true, force: true });
      expect(code, output.slice(-20_000)).toBe(0);
      expect(output).toMatch(/API calls|generated/i);
    },
  );
});
