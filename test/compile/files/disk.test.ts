import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { check } from "../../../src/cli/check.ts";
import { watchConfiguration, watchFiles } from "../../../src/server/reload.ts";
import { compileConfiguration } from "../../../src/compile/compile.ts";
import { loadConfiguration } from "../../../src/compile/load.ts";
import { PRICE_LIST } from "../../../src/compile/prices.ts";
import { CLEAN } from "../base.ts";
import { type Files, SPLIT } from "./samples.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-files-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

async function codes(environment: string | null = null): Promise<readonly string[]> {
  const files = await loadConfiguration(
    join(folder, "infra/routes.yaml"),
    "infra/routes.yaml",
    environment,
  );
  const { diagnostics } = await compileConfiguration(files, { cache: null });
  return diagnostics.map(({ code }) => code);
}

describe("links", () => {
  test("an included file or an overlay that leads out of the folder is refused", async () => {
    write({
      "shared.yaml": "vocabulary: {}\n",
      "infra/routes.yaml": `include: [shared.yaml]\n${CLEAN}`,
    });
    symlinkSync("../shared.yaml", join(folder, "infra/shared.yaml"));
    expect(await codes()).toEqual(["INCLUDE_OUTSIDE"]);
    write({ "infra/routes.yaml": CLEAN });
    symlinkSync("../shared.yaml", join(folder, "infra/routes.prod.yaml"));
    expect(await codes("prod")).toEqual(["INCLUDE_OUTSIDE"]);
  });

  test("a linked folder that leads out is refused too", async () => {
    write({
      "teams/a.yaml": "vocabulary: {}\n",
      "infra/routes.yaml": `include: ["teams/*.yaml"]\n${CLEAN}`,
    });
    symlinkSync("../teams", join(folder, "infra/teams"));
    expect(await codes()).toEqual(["INCLUDE_OUTSIDE"]);
  });

  test("a link inside the folder is followed, as a mounted ConfigMap has them", async () => {
    write({
      "infra/..data/routes.yaml": `include: [labels.yaml]\n${CLEAN}`,
      "infra/..data/labels.yaml": "vocabulary: { labels: [eu] }\n",
    });
    for (const name of ["routes.yaml", "labels.yaml"])
      symlinkSync(`..data/${name}`, join(folder, "infra", name));
    expect(await codes()).toEqual([]);
  });
});

test("a price list beside routes.yaml is a part of the configuration", async () => {
  const list = '{ "date": "2027-01-02", "rows": [] }';
  write({ "routes.yaml": CLEAN, "prices.json": list });
  const path = join(folder, "routes.yaml");
  expect((await loadConfiguration(path)).prices).toEqual({ date: "2027-01-02", rows: [] });
  write({ "prices.json": "{}" });
  const { prices, unreadable } = await loadConfiguration(path, "infra/routes.yaml");
  expect(prices).toBe(PRICE_LIST);
  expect(unreadable).toMatchObject([{ code: "SOURCE_UNREADABLE", file: "infra/prices.json" }]);
});

describe("signalbox check over several files", () => {
  async function run(...argv: readonly string[]) {
    let stdout = "";
    let stderr = "";
    const code = await check(argv, {
      stdout: (written) => void (stdout += written),
      stderr: (written) => void (stderr += written),
      environment: argv.includes("from-variable") ? {} : { SIGNALBOX_ENVIRONMENT: "" },
      cwd: folder,
    });
    return { code, stdout, stderr };
  }

  test("accepts a folder, and prints the number of files and the environment", async () => {
    write(Object.fromEntries(Object.entries(SPLIT).map(([name, text]) => [`infra/${name}`, text])));
    write({ "infra/routes.production.yaml": "models: { large: { context_window: 1000 } }\n" });
    const plain = await run("infra");
    expect(plain).toMatchObject({ code: 0, stderr: "" });
    expect(plain.stdout).toMatch(
      /^infra\/routes\.yaml, 2 included: 1 routes, .* table [0-9a-f]{12}\n$/,
    );
    const production = await run("infra", "--environment", "production");
    expect(production.stdout).toMatch(/^infra\/routes\.yaml, 2 included, environment production: /);
    expect(production.stdout.slice(-13)).not.toBe(plain.stdout.slice(-13));
    expect((await run("infra", "--config", "routes.yaml")).code).toBe(2);
  });

  test("SIGNALBOX_ENVIRONMENT chooses the environment where no flag does", async () => {
    write({ "routes.yaml": CLEAN, "routes.eu.yaml": "{}\n", "routes.us.yaml": "{}\n" });
    let stdout = "";
    const io = {
      stdout: (written: string) => void (stdout += written),
      stderr: () => {},
      environment: { SIGNALBOX_ENVIRONMENT: "eu" },
      cwd: folder,
    };
    await check([], io);
    await check(["--environment", "us"], io);
    expect(stdout).toMatch(/environment eu: [^]*environment us: /);
  });

  test("a finding in an included file shows its line, and the report ends with how to learn more", async () => {
    write({
      ...SPLIT,
      "providers.yaml": (SPLIT["providers.yaml"] ?? "").replace(
        "region: us-east",
        "region: us-est",
      ),
    });
    const { code, stdout } = await run(".");
    expect(code).toBe(1);
    expect(stdout).toMatch(/--> providers\.yaml:10:13\n10 \| +region: us-est\n/);
    expect(
      stdout.endsWith(
        "signalbox check --explain UNKNOWN_REGION explains the code, as it does for every other code.\n",
      ),
    ).toBe(true);
  });
});

test(
  "included files, new ones too, the overlay and the price list are watched",
  { timeout: 30_000 },
  async () => {
    write({ ...SPLIT, "routes.eu.yaml": "{}\n" });
    let reported = 0;
    let heard = () => {};
    const end = watchConfiguration(join(folder, "routes.yaml"), "eu", () => {
      reported += 1;
      heard();
    });
    const change = async (name: string, text: string): Promise<void> => {
      const next = new Promise<void>((resolve) => (heard = resolve));
      write({ [name]: text });
      await next;
    };
    try {
      // The first look is what changes are seen against.
      await new Promise((resolve) => setTimeout(resolve, 700));
      await change("providers.yaml", "providers: {}\n");
      await change("teams/new.yaml", "vocabulary: {}\n");
      await change("routes.eu.yaml", "routes: {}\n");
      await change("prices.json", '{ "date": "2027-01-02", "rows": [] }');
      expect(reported).toBe(4);
    } finally {
      end();
    }
  },
);

test("a secret's file that a mounted volume swaps by its symbolic link is reported", async () => {
  write({ "..1/key": "old", "..2/key": "new" });
  const link = join(folder, "..data");
  symlinkSync("..1", link);
  symlinkSync("..data/key", join(folder, "key"));
  const changed = Promise.withResolvers<void>();
  const end = watchFiles([join(folder, "key")], changed.resolve);
  try {
    await new Promise((resolve) => setTimeout(resolve, 700));
    symlinkSync("..2", `${link}_tmp`);
    renameSync(`${link}_tmp`, link);
    await expect(changed.promise).resolves.toBeUndefined();
  } finally {
    end();
  }
});
