import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { compareDiagnostics } from "../../src/canon/diagnostic.ts";
import { canonicalJson } from "../../src/canon/json.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { fewOrMany } from "../support/long.ts";
import { CLEAN, DEFAULT } from "./base.ts";

type Tree = unknown;
type Where = readonly (string | number)[];

/** Every location of a tree. */
function positions(tree: Tree, path: Where = []): readonly Where[] {
  if (typeof tree !== "object" || tree === null) return [path];
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(tree)
    ? [...tree.entries()]
    : Object.entries(tree);
  return [path, ...entries.flatMap(([name, member]) => positions(member, [...path, name]))];
}

/** The tree with the value at one location changed; `undefined` takes it out. */
function change(tree: Tree, [name, ...rest]: Where, edit: (value: Tree) => Tree): Tree {
  if (name === undefined) return edit(tree);
  if (Array.isArray(tree))
    return tree.flatMap((item, index) =>
      index === name ? drop(change(item, rest, edit)) : [item],
    );
  return Object.fromEntries(
    Object.entries(tree as object).flatMap(([key, member]) =>
      key === name
        ? drop(change(member, rest, edit)).map((value) => [key, value])
        : [[key, member]],
    ),
  );
}

function drop(value: Tree): readonly Tree[] {
  return value === undefined ? [] : [value];
}

const texts = [
  "large-eu",
  "chat",
  "eu",
  "eu-west",
  "none",
  "constructor",
  "__proto__",
  "openai-chat",
  "sk-0123456789abcdef0123",
  "http://x",
  "https://us.api.openai.com",
  "2s",
  "",
  "a\nb",
  "*",
  "../x",
  "=",
  "~",
  "généré",
];
const scalar = fc.oneof(
  fc.constantFrom(...texts),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.string(),
);
const replacement = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.oneof(fc.constantFrom(...texts), fc.string()), scalar, { maxKeys: 3 }),
);

type Mutation = {
  readonly at: number;
  readonly kind: "delete" | "replace" | "duplicate" | "copy" | "rename";
  readonly value: unknown;
  readonly from: number;
};

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom("delete", "replace", "duplicate", "copy", "rename"),
  value: replacement,
  from: fc.nat(),
});

function mutate(tree: Tree, { at, kind, value, from }: Mutation): Tree {
  const all = positions(tree);
  const position = all[at % all.length] ?? [];
  switch (kind) {
    case "delete":
      return change(tree, position, () => undefined) ?? null;
    case "replace":
      return change(tree, position, () => value);
    case "duplicate":
      return change(tree, position, (old) => (Array.isArray(old) ? [...old, ...old] : [old, old]));
    case "copy": {
      let copied: Tree = null;
      change(tree, all[from % all.length] ?? [], (old) => (copied = old));
      return change(tree, position, () => copied);
    }
    case "rename":
      return change(tree, position, (old) =>
        typeof old === "object" && old !== null && !Array.isArray(old)
          ? Object.fromEntries(
              Object.entries(old).map(([name, member], index) => [
                index === 0 ? JSON.stringify(value) : name,
                member,
              ]),
            )
          : old,
      );
  }
}

const mutated = fc
  .tuple(fc.constantFrom(CLEAN, DEFAULT), fc.array(mutation, { minLength: 1, maxLength: 4 }))
  .map(([text, mutations]) => stringify(mutations.reduce(mutate, parse(text) as Tree)));

/** The text with a piece taken out or something put in: mostly not YAML any more. */
const torn = fc
  .tuple(
    fc.constantFrom(CLEAN, DEFAULT),
    fc.nat(),
    fc.nat({ max: 40 }),
    fc.oneof(
      fc.string(),
      fc.constantFrom("\t", "&a ", "*a", "<<: ", "---\n", "? ", "!!set ", "{", "]", '"', "\r"),
    ),
  )
  .map(
    ([text, at, length, inserted]) =>
      text.slice(0, at % text.length) + inserted + text.slice((at % text.length) + length),
  );

const text = fc.oneof(mutated, torn, fc.string());

// Hundreds of compilations each: on a busy machine more than the usual five seconds.
describe("over mutated files", () => {
  test("compiling never throws, and returns a table exactly when there is no error", () => {
    fc.assert(
      fc.property(text, (source) => {
        const { table, diagnostics } = compileTable({ path: "routes.yaml", text: source });
        expect(table === null).toBe(diagnostics.some(({ severity }) => severity === "error"));
        const lines = source.split(/\r\n?|\n/);
        for (const { line, column, message } of diagnostics) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeGreaterThanOrEqual(1);
          expect(message).not.toBe("");
          expect(message).not.toMatch(/\p{Cc}/u);
        }
        expect(diagnostics.toSorted(compareDiagnostics)).toEqual(diagnostics);
        expect(new Set(diagnostics.map((diagnostic) => JSON.stringify(diagnostic))).size).toBe(
          diagnostics.length,
        );
      }),
      { numRuns: fewOrMany(60, 600) },
    );
  });

  test("a second compilation with other line endings gives the same findings and revision", () => {
    fc.assert(
      fc.property(mutated, (source) => {
        const first = compileTable({ path: "a.yaml", text: source });
        const second = compileTable({ path: "a.yaml", text: source.replaceAll("\n", "\r\n") });
        expect(second.diagnostics).toEqual(first.diagnostics);
        expect(second.table?.revision).toBe(first.table?.revision);
      }),
      { numRuns: fewOrMany(20, 150) },
    );
  });

  test("two tables have one revision exactly when they are equal", () => {
    fc.assert(
      fc.property(mutated, mutated, (left, right) => {
        const tables = [left, right, CLEAN].flatMap(
          (source) => compileTable({ path: "a", text: source }).table ?? [],
        );
        for (const one of tables) {
          for (const other of tables) {
            const equal =
              canonicalJson({ ...one, revision: "" }) === canonicalJson({ ...other, revision: "" });
            expect(one.revision === other.revision).toBe(equal);
          }
        }
      }),
      { numRuns: fewOrMany(20, 150) },
    );
  });

  test.each(["sk-Zm9vYmFyYmF6cXV4MTIzNDU2", "sk-zm9vymfyymf6cxv4mtizndu2"])(
    "no finding repeats %s, pasted at any position",
    (key) => {
      const all = positions(parse(CLEAN) as Tree);
      for (const position of all.filter((_, index) => index % fewOrMany(10, 1) === 0)) {
        for (const value of [key, [key], { [key]: "x" }, { x: key }]) {
          const source = stringify(change(parse(CLEAN) as Tree, position, () => value));
          const { table, diagnostics } = compileTable({ path: "routes.yaml", text: source });
          expect(table).toBeNull();
          expect(diagnostics.map(({ code }) => code)).toContain("LITERAL_SECRET");
          expect(JSON.stringify(diagnostics)).not.toContain(key.slice(4, 12));
        }
      }
    },
  );

  test("no finding repeats a credential that is used as a name everywhere", () => {
    const key = "sk-zm9vymfyymf6cxv4mtizndu2";
    for (const name of ["alpha-eu", "large", "large-eu", "chat", "acme", "eu", "eu-west"]) {
      const all = CLEAN.replaceAll(new RegExp(`\\b${name}\\b`, "g"), key);
      // And with one reference broken, so that the declared name is a candidate for every hint.
      const sources = [
        all,
        all.replace(`[${key}`, "[elsewhere"),
        all.replace(`: ${key}`, ": elsewhere"),
      ];
      for (const source of sources) {
        expect(
          JSON.stringify(compileTable({ path: "routes.yaml", text: source }).diagnostics),
        ).not.toContain("zm9v");
      }
    }
  });
});
