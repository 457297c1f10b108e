import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse as parseYaml } from "yaml";
import { toCase, type ConformanceCase, type PublishedCase } from "./case.ts";

/** Why there are no cases to run. The message names the file, the case and the member. */
export class CasesError extends Error {
  override readonly name = "CasesError";
}

const ajv = new Ajv2020();
// `data` and `input` are whatever JSON or YAML gives; members that are not named here do not touch
// the result.
const isPublishedCase = ajv.compile<PublishedCase>({
  type: "object",
  required: ["note", "query"],
  properties: {
    note: { type: "string", minLength: 1 },
    query: { type: "string", minLength: 1 },
    file: { type: "string" },
    modules: { type: ["array", "null"], items: { type: "string" } },
    input_term: { type: "string" },
    want_defined: { type: "boolean" },
    want_result: { type: "array", items: { type: "object" } },
    want_error_code: { type: "string" },
    want_error: { type: "string" },
    sort_bindings: { type: "boolean" },
    strict_error: { type: "boolean" },
  },
});

/**
 * Reads cases from a file of JSON lines, or from a folder of the files that OPA publishes
 * (`cases: […]`, YAML or JSON), in the order of their paths.
 *
 * @throws {CasesError}
 */
export async function readCases(path: string): Promise<readonly ConformanceCase[]> {
  const facts = await stat(path).catch(() => null);
  if (facts === null) throw new CasesError(`${path} does not exist`);
  const files = facts.isDirectory() ? await filesBelow(path) : [path];
  if (files.length === 0) throw new CasesError(`${path} holds no .yaml, .json or .jsonl file`);
  const cases: ConformanceCase[] = [];
  for (const file of files) {
    const name = facts.isDirectory() ? relative(path, file).replaceAll("\\", "/") : file;
    for (const [index, published] of publishedCases(await readFile(file, "utf8"), name).entries()) {
      cases.push(checked(published, name, index + 1));
    }
  }
  return cases;
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const named = entries.filter((entry) => entry.isFile() && /\.(ya?ml|jsonl?)$/.test(entry.name));
  return named.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

function publishedCases(text: string, file: string): readonly unknown[] {
  if (file.endsWith(".jsonl")) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.map((line, index) =>
      readOr(exactJson, line, `${file}: case ${index + 1} is not JSON`),
    );
  }
  const document = file.endsWith(".json")
    ? readOr(exactJson, text, `${file} is not JSON`)
    : readOr(exactYaml, text, `${file} is not YAML`);
  if (
    typeof document !== "object" ||
    document === null ||
    !("cases" in document) ||
    !Array.isArray(document.cases)
  )
    throw new CasesError(`${file}: cases must be a list, as in the files that OPA publishes`);
  return document.cases;
}

function readOr(read: (text: string) => unknown, text: string, complaint: string): unknown {
  try {
    return read(text);
  } catch {
    throw new CasesError(complaint);
  }
}

/** A result that is only as good as a double must not pass for one that is exact. */
function exactJson(text: string): unknown {
  return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source ?? "";
    return typeof value === "number" && /^-?\d+$/.test(source) ? exact(BigInt(source)) : value;
  });
}

function exactYaml(text: string): unknown {
  return parseYaml(
    text,
    (_, value: unknown) => (typeof value === "bigint" ? exact(value) : value),
    {
      intAsBigInt: true,
    },
  );
}

function exact(value: bigint): bigint | number {
  return BigInt(Number(value)) === value ? Number(value) : value;
}

function checked(published: unknown, file: string, number: number): ConformanceCase {
  if (!isPublishedCase(published)) {
    const [error] = isPublishedCase.errors ?? [];
    const member = error?.instancePath.slice(1).replaceAll("/", ".") ?? "";
    throw new CasesError(
      `${file}: case ${number}: ${`${member} ${error?.message ?? "is not valid"}`.trim()}`,
    );
  }
  const read = toCase(published, file);
  if (typeof read === "string")
    throw new CasesError(`${file}: case ${number} (${published.note}): ${read}`);
  return read;
}
