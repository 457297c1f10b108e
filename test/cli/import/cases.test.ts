import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ImportAnswers } from "../../../src/cli/import/configuration/imported-configuration.ts";
import {
  formatImportJson,
  formatImportMarkdown,
  runImport,
} from "../../../src/cli/import/import.ts";
import { modelLines, readImportedText } from "../../../src/cli/import/source.ts";
import { TEST_CACHE } from "../../support/cache.ts";

/**
 * Configurations of others with what the import makes of them. `SIGNALBOX_WRITE_CASES=1` writes
 * what is expected anew; read the difference.
 */
const CASES = join(import.meta.dirname, "cases");
const WRITES = process.env.SIGNALBOX_WRITE_CASES === "1";

const SOURCES = { litellm: "config.yaml", portkey: "config.json", openrouter: "models.txt" };

async function imported(source: string, folder: string, file: string) {
  const path = join(folder, file);
  const text = await readImportedText(path, file);
  if (typeof text === "string") throw new Error(text);
  const list = join(folder, "models.txt");
  const models = source !== "openrouter" && existsSync(list) ? readFileSync(list, "utf8") : "";
  const providers = join(folder, "providers.json");
  const answers: ImportAnswers = {
    workspace: "demo",
    trainsOnData: true,
    models: (modelLines({ shown: list, text: models }) ?? []).map(({ node }) =>
      String(Reflect.get(node, "value")),
    ),
    providers: new Map(
      existsSync(providers) ? Object.entries(JSON.parse(readFileSync(providers, "utf8"))) : [],
    ),
  };
  return await runImport(source, { ...text, path }, answers, TEST_CACHE);
}

describe.each(Object.entries(SOURCES))("import %s", (source, file) => {
  const folders = existsSync(join(CASES, source))
    ? readdirSync(join(CASES, source)).toSorted()
    : [];

  test.each(folders)(
    "%s: the written files compile without an error and are as expected",
    async (name) => {
      const folder = join(CASES, source, name);
      const result = await imported(source, folder, file);
      if (!("files" in result)) throw new Error(JSON.stringify(result, null, 1));
      // Names and addresses that the source does not have are errors until they are filled in.
      const isLeft = ({ code }: { readonly code: string }): boolean => code === "PLACEHOLDER_LEFT";
      expect(result.result.check.errors.filter((error) => !isLeft(error))).toEqual([]);
      expect(result.result.check.revision === null).toBe(result.result.check.errors.length > 0);
      const { check, entries, secrets, keys } = result.result;
      const report = {
        ...(check.errors.length > 0 && {
          errors: check.errors.map(({ code, message }) => `${code}: ${message}`),
        }),
        warnings: check.warnings.map(({ code, message }) => `${code}: ${message}`),
        entries: entries.map(
          ({ outcome, line, source: path, text }) => `${outcome} ${line} ${path}: ${text}`,
        ),
        secrets: secrets.map(
          ({ variable, literals }) =>
            `${variable}${literals.map(({ line }) => ` ${line}`).join("")}`,
        ),
        keys,
      };
      // The law: a value without a line of its own gets this one.
      expect(
        report.entries.filter((entry) => entry.includes("makes nothing of this value")),
      ).toEqual([]);
      const written = new Map([
        ...result.files,
        ["report.json", `${JSON.stringify(report, null, 2)}\n`],
      ]);
      const expected = join(folder, "expected");
      if (WRITES) {
        rmSync(expected, { recursive: true, force: true });
        for (const [path, text] of written) {
          mkdirSync(dirname(join(expected, path)), { recursive: true });
          writeFileSync(join(expected, path), text);
        }
      }
      for (const [path, text] of written)
        expect(text, path).toBe(readFileSync(join(expected, path), "utf8"));
      const everything = [
        ...result.files.values(),
        formatImportMarkdown(result.result),
        formatImportJson(result.result),
      ].join("\n");
      expect(everything).not.toMatch(/LEAK/);
    },
  );
});
