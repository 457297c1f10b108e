import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { explainRequest } from "../../../src/cli/explain/explain.ts";
import type { CommandIo } from "../../../src/cli/terminal/command-io.ts";
import { simulate } from "../../../src/cli/simulate/simulate.ts";
import type { RunSimulation, Side, SimulationRequest } from "../../../src/simulate/request.ts";
import { locationsOf } from "../../../src/simulate/explain/positions.ts";
import { SPLIT } from "../../compile/files/samples.ts";
import { runCommand } from "../../keys/command.ts";
import { reportOf } from "./report.ts";
import { commit, GIT_ENVIRONMENT, NO_GIT, repository, writeTo } from "./repository.ts";

const PRODUCTION = "providers: { alpha-eu: { base_url: https://prod.example } }\n";

async function sides(cwd: string, ...argv: readonly string[]) {
  let seen: { readonly base: Side; readonly head: Side } | null = null;
  const engine: RunSimulation = async (base, head) => {
    seen = { base, head };
    return reportOf();
  };
  const ran = await runCommand(
    (own, io) => simulate(own, io, engine),
    [...argv, "--format", "json"],
    {
      cwd,
      environment: GIT_ENVIRONMENT,
    },
  );
  return { ...ran, sides: seen as { readonly base: Side; readonly head: Side } | null };
}

async function requestOf(cwd: string, ...argv: readonly string[]) {
  let seen: SimulationRequest | null = null;
  const engine: RunSimulation = async (_base, _head, request) => {
    seen = request;
    return reportOf();
  };
  const command = (own: readonly string[], io: CommandIo) => simulate(own, io, engine);
  await runCommand(command, [...argv, "--format", "json"], { cwd, environment: GIT_ENVIRONMENT });
  return { seen: seen as SimulationRequest | null };
}

function addressOf({ table }: Side): string | undefined {
  return table.providers["alpha-eu"]?.baseUrl;
}

describe.skipIf(NO_GIT !== null)(
  "simulation of several files from git",
  { timeout: 60_000 },
  () => {
    test("both sides are read from commits with their included files", async () => {
      const cwd = repository(SPLIT);
      writeTo(cwd, {
        "providers.yaml": (SPLIT["providers.yaml"] ?? "").replace("alpha.example", "other.example"),
      });
      commit(cwd, "second");
      // What stands in the working tree is of no concern.
      writeTo(cwd, { "providers.yaml": "nonsense\n" });
      const { code, stderr, sides: seen } = await sides(cwd, "--base", "main~1", "--head", "main");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      if (seen === null) throw new Error("nothing was compared");
      expect([addressOf(seen.base), addressOf(seen.head)]).toEqual([
        "https://alpha.example/v1",
        "https://other.example/v1",
      ]);
      expect(seen.base.table.revision).not.toBe(seen.head.table.revision);
      expect(locationsOf(seen.head.files).provider("alpha-eu")).toEqual({
        file: "providers.yaml",
        line: 2,
        column: 3,
      });
      expect(locationsOf(seen.head.files).endpoint("large-us")).toMatchObject({
        file: "teams/supply.yaml",
      });
      expect(locationsOf(seen.head.files).route("chat")).toMatchObject({ file: "routes.yaml" });
    });

    test("overlays of other environments that differ are named, and only they", async () => {
      const cwd = repository({
        ...SPLIT,
        "routes.staging.yaml": PRODUCTION,
        "routes.test.yaml": PRODUCTION,
      });
      writeTo(cwd, { "routes.staging.yaml": PRODUCTION.replace("prod", "other") });
      commit(cwd, "another overlay");
      const changesOf = async (...argv: readonly string[]) => {
        const { seen } = await requestOf(cwd, "--base", "main~1", "--head", "main", ...argv);
        return seen?.otherOverlays;
      };
      const change = { path: "routes.staging.yaml", effect: "other_environment", gate: null };
      expect(await changesOf()).toMatchObject([change]);
      expect(await changesOf("--environment", "test")).toMatchObject([change]);
      expect(await changesOf("--environment", "staging")).toEqual([]);
    });

    test("an overlay is merged over both sides; a base without it is compared without, with a note", async () => {
      const cwd = repository(SPLIT);
      writeTo(cwd, { "routes.production.yaml": PRODUCTION });
      commit(cwd, "an overlay");
      const first = await sides(
        cwd,
        "--base",
        "main~1",
        "--head",
        "main",
        "--environment",
        "production",
      );
      expect(first.code).toBe(0);
      expect(first.stderr).toContain("base has no overlay for this environment");
      if (first.sides === null) throw new Error("nothing was compared");
      expect([addressOf(first.sides.base), addressOf(first.sides.head)]).toEqual([
        "https://alpha.example/v1",
        "https://prod.example",
      ]);
      const both = await sides(cwd, "--base", "main", "--head", ".", "--environment", "production");
      expect(both.stderr).toBe("");
      expect(both.sides === null ? "" : addressOf(both.sides.base)).toBe("https://prod.example");
      const unknown = await sides(cwd, "--base", "main", "--head", "main", "--environment", "prod");
      expect(unknown.sides).toBeNull();
      expect(unknown.stderr).toMatch(/ENVIRONMENT_UNKNOWN[^]*known here: production/);
    });

    test("a link in a commit is not followed", async () => {
      const { symlinkSync } = await import("node:fs");
      const cwd = repository({ ...SPLIT, "elsewhere.txt": "vocabulary: {}\n" });
      symlinkSync("../elsewhere.txt", join(cwd, "teams/linked.yaml"));
      commit(cwd, "a link");
      const { sides: seen, stderr } = await sides(cwd, "--base", "main", "--head", "main");
      expect(seen).toBeNull();
      expect(stderr).toContain("is a symbolic link in that commit");
    });

    test("explain reads the same files, and its locations name them", async () => {
      const cwd = repository({
        ...SPLIT,
        "routes.production.yaml": "routes: { chat: { fallbacks: [] } }\n",
      });
      const ask = (...argv: readonly string[]) =>
        runCommand(
          explainRequest,
          [
            "--point",
            '{"workspace":"acme","operation":"chat.completions","model":"chat"}',
            "--format",
            "json",
            ...argv,
          ],
          {
            cwd,
            environment: {},
          },
        );
      const plain = await ask();
      expect(plain.stderr).toBe("");
      expect(plain.stdout).toContain('"teams/supply.yaml"');
      expect(plain.stdout).toContain("large-us");
      const production = await ask("--environment", "production");
      expect(production.code).toBe(0);
      expect(production.stdout).not.toContain("large-us");
    });
  },
);
