import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { check } from "../../src/cli/check.ts";
import { simulate } from "../../src/cli/simulate/simulate.ts";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { ResultCache, type CompileCache } from "../../src/policy/toolchain/compile-cache.ts";
import { CLEAN } from "../compile/base.ts";
import { gatePolicy } from "../cli/policy-folder.ts";
import { temporaryFolder, writeTo } from "../cli/simulate/repository.ts";
import { Replica } from "../cli/policies-served/fixture.ts";
import { runCommand, type Ran } from "../keys/command.ts";
import { cacheIn } from "../support/cache.ts";
import { fewOrMany } from "../support/long.ts";

const STRICT = gatePolicy("gate", 'pass["tier_approved"] if not input.operation');
const WEAK = gatePolicy("gate", 'pass["tier_approved"] if input.operation');
const BROKEN = gatePolicy("gate", "pass[");

/** How an attacker can seal an entry without the secret of the installation. */
const SEALS: Readonly<
  Record<string, (folder: string, name: string, text: string) => Promise<void>>
> = {
  "with a digest, as older versions wrote it": (folder, name, text) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(
      join(folder, `${name}.json`),
      `${createHash("sha256").update(text).digest("hex")}\n${text}`,
    );
    return Promise.resolve();
  },
  "with a secret that lies beside it": async (folder, name, text) => {
    await new ResultCache({ directory: folder, secretDirectory: folder }).write(name, text);
  },
};

const compiled = new Map<string, Promise<ReadonlyMap<string, string>>>();

/** What a compilation of the source leaves in a new cache, by name. Each is compiled once. */
function entriesOf(source: string): Promise<ReadonlyMap<string, string>> {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const made = compileAlone(source, cacheIn(mkdtempSync(join(tmpdir(), "signalbox-forged-"))));
  compiled.set(source, made);
  return made;
}

async function compileAlone(
  source: string,
  cache: CompileCache,
): Promise<ReadonlyMap<string, string>> {
  await compilePolicies([{ path: "policies/gate.rego", text: source }], { cache });
  const entries = readdirSync(cache.directory).map(
    (name) =>
      [
        name.replace(".json", ""),
        readFileSync(join(cache.directory, name), "utf8").split("\n").slice(1).join("\n"),
      ] as const,
  );
  rmSync(dirname(cache.directory), { recursive: true, force: true });
  return new Map(entries);
}

/** Entries that say of `source` what is true of `other`. */
async function forge(
  source: string,
  other: string,
  write: (name: string, text: string) => Promise<void>,
) {
  const honest = await entriesOf(source);
  const lying = [...(await entriesOf(other)).values()];
  for (const [name, text] of honest) {
    const members = Object.keys(JSON.parse(text) as object).join();
    await write(
      name,
      lying.find((one) => Object.keys(JSON.parse(one) as object).join() === members) ?? text,
    );
  }
}

describe.for(Object.keys(SEALS))("a cache entry that was forged %s", (seal) => {
  const locations = ["--cache", "the location in the checkout that older versions used"] as const;
  const isNewest = seal === "with a secret that lies beside it";
  // Each seal in each location, one for each command; `npm run test:long` tries all.
  const ofSimulate = fewOrMany<readonly string[]>([locations[isNewest ? 0 : 1]], locations);
  const ofCheck = fewOrMany<readonly string[]>([locations[isNewest ? 1 : 0]], locations);

  /** A checkout with forged entries, and what runs a command in it. */
  async function checkout(location: string, source: string, other: string) {
    const cwd = temporaryFolder();
    const folder = join(cwd, location === "--cache" ? "cache" : ".signalbox/cache");
    await forge(
      source,
      other,
      (name, text) => SEALS[seal]?.(folder, name, text) ?? Promise.resolve(),
    );
    expect(readdirSync(folder).length).toBeGreaterThan(0);
    const flags = location === "--cache" ? ["--cache", "cache"] : [];
    const environment = { XDG_CACHE_HOME: join(cwd, "home") };
    const run = (command: typeof check, ...argv: readonly string[]): Promise<Ran> =>
      runCommand(command, [...argv, ...flags], { cwd, environment });
    return { cwd, folder, run };
  }

  test.for(ofSimulate)("%s: simulate reports the policies of the files", async (location) => {
    const { cwd, run } = await checkout(location, WEAK, STRICT);
    const routes = `${CLEAN}\npolicies: { initial_mode: { "*": enforce } }\n`;
    writeTo(join(cwd, "before"), { "routes.yaml": routes, "policies/gate.rego": STRICT });
    writeTo(join(cwd, "after"), { "routes.yaml": routes, "policies/gate.rego": WEAK });
    const argv = ["--base", "./before", "--head", "./after", "--fresh", "--format", "json"];
    // 2: the sides differ; 0 would mean that they are equivalent.
    expect((await run(simulate, ...argv, "--detailed-exitcode")).code).toBe(2);
  });

  test.for(ofCheck)("%s: check reports the errors of the files", async (location) => {
    const { cwd, run } = await checkout(location, BROKEN, WEAK);
    writeTo(cwd, { "routes.yaml": CLEAN, "policies/gate.rego": BROKEN });
    const { code, stdout } = await run(check);
    expect([code, stdout]).toEqual([1, expect.stringContaining("POLICY_SYNTAX")]);
  });

  test.runIf(fewOrMany(isNewest, true))(
    "serve enforces the policies of the files, and rewrites the entry",
    async () => {
      const folder = temporaryFolder();
      const cache = { directory: join(folder, "cache"), secretDirectory: join(folder, "own") };
      const honest = await Replica.start("nothing", { cache });
      expect((await honest.ask()).status).toBe(403);
      await honest.server.close();
      // What a weaker gate compiles to, under the names of this one's entries.
      const other = { directory: join(folder, "other"), secretDirectory: join(folder, "other") };
      const weak = await Replica.start("everything", { cache: other });
      expect((await weak.ask()).status).toBe(200);
      const forged = swap(cache.directory, other.directory);
      for (const [name, text] of forged) await SEALS[seal]?.(cache.directory, name, text);
      const again = await Replica.start("nothing", { cache });
      expect((await again.ask()).status).toBe(403);
      for (const [name, text] of forged) {
        expect(await new ResultCache(cache).read(name)).not.toBe(text);
      }
    },
  );
});

/** The larger entries of a cache are modules: those of another one, by the names of these. */
function swap(directory: string, other: string): ReadonlyMap<string, string> {
  const modules = (folder: string): readonly (readonly [string, string])[] =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json") && !name.includes("contents"))
      .map(
        (name) =>
          [name.replace(".json", ""), readFileSync(join(folder, name), "utf8").slice(65)] as const,
      )
      .filter(([, text]) => Object.hasOwn(JSON.parse(text) as object, "wasm"));
  const [theirs] = modules(other);
  return new Map(modules(directory).map(([name]) => [name, theirs?.[1] ?? ""]));
}

describe("a cache folder that another user could have created", () => {
  test("as a link of the checkout is refused, with one line", async () => {
    const cwd = temporaryFolder();
    writeTo(cwd, { "routes.yaml": CLEAN, "policies/gate.rego": WEAK });
    mkdirSync(join(cwd, "elsewhere"));
    symlinkSync("elsewhere", join(cwd, "cache"));
    const environment = { XDG_CACHE_HOME: join(cwd, "home") };
    const { code, stderr } = await runCommand(check, ["--cache", "cache"], { cwd, environment });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^no compile cache is used, .*cache is a symbolic link; give the folder itself\n$/,
    );
    expect(readdirSync(join(cwd, "elsewhere"))).toEqual([]);
  });

  test("a copy of a whole cache with its secret, given as --cache, is not used", async () => {
    const cwd = temporaryFolder();
    const [attacker, environment] = [
      cacheIn(join(cwd, "attacker")),
      { XDG_CACHE_HOME: join(cwd, "home") },
    ];
    await forge(BROKEN, WEAK, (name, text) => new ResultCache(attacker).write(name, text));
    cpSync(attacker.secretDirectory, attacker.directory, { recursive: true });
    writeTo(cwd, { "routes.yaml": CLEAN, "policies/gate.rego": BROKEN });
    const { code } = await runCommand(check, ["--cache", attacker.directory], { cwd, environment });
    expect(code).toBe(1);
  });
});
