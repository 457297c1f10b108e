import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readCases } from "./read-cases.ts";

describe("reading cases", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signalbox-conformance-"));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };
  const published = { note: "n", query: " data.t.p = x ", want_result: [{ x: 1 }] };

  test("reads a YAML file as OPA publishes it, with exact numbers in wanted results only", async () => {
    const text = [
      "cases:",
      "  - note: n",
      "    query: data.t.p = x",
      '    modules: ["package t\\n\\np := 1\\n"]',
      "    data: {big: 18446744073709551614}",
      "    want_result: [{x: [18446744073709551614, 3, 1.5]}]",
    ].join("\n");
    const [read] = await readCases(await write("a.yaml", text));
    expect(read).toMatchObject({
      data: { big: Number(18446744073709551614n) },
      wanted: {
        bindings: [{ x: [18446744073709551614n, 3, 1.5] }],
        variables: ["x"],
        asSets: false,
      },
    });
  });

  test("JSON and JSON lines have the same cases", async () => {
    const text = JSON.stringify(published).replace('"x":1', '"x":18446744073709551614');
    const fromJson = await readCases(await write("b.json", `{"cases": [${text}]}`));
    const fromLines = await readCases(await write("b.jsonl", `${text}\n\n`));
    expect(fromLines).toMatchObject([
      { query: "data.t.p = x", wanted: { bindings: [{ x: 18446744073709551614n }] } },
    ]);
    expect(fromLines.map((read) => ({ ...read, file: "" }))).toEqual(
      fromJson.map((read) => ({ ...read, file: "" })),
    );
  });

  test("reads a whole folder, and refuses an invalid case with its location", async () => {
    await expect(readCases(join(folder, "absent"))).rejects.toThrow("does not exist");
    const refusals: readonly (readonly [string, string, string])[] = [
      ["c.jsonl", "{", "case 1 is not JSON"],
      ["c.yaml", "a: [", "is not YAML"],
      ["c.json", "[]", "cases must be a list"],
      ["d.json", '{"cases": [{"note": "n"}]}', "case 1: must have required property 'query'"],
      [
        "e.json",
        '{"cases": [{"note": "n", "query": "q", "modules": [1]}]}',
        "case 1: modules.0 must be string",
      ],
      [
        "f.json",
        '{"cases": [{"note": "n", "query": "q"}]}',
        "case 1 (n): one of want_defined, want_result",
      ],
      [
        "g.json",
        '{"cases": [{"note": "n", "query": "q", "want_result": [{"x y": 1}]}]}',
        "must bind variables only",
      ],
      [
        "h.json",
        '{"cases": [{"note": "n", "query": "q", "want_error": "text"}]}',
        "want_error_code must be there",
      ],
    ];
    for (const [name, text, complaint] of refusals) {
      await expect(readCases(await write(name, text)), name).rejects.toThrow(complaint);
      await rm(join(folder, name));
    }
    await write("note.md", "not a case");
    expect((await readCases(folder)).map(({ file }) => file)).toEqual([
      "a.yaml",
      "b.json",
      "b.jsonl",
    ]);
  });
});
