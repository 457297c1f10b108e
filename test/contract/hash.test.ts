import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { contractSha256, openApiDocument } from "../../src/http/contract/openapi.ts";
import { serve } from "./served.ts";

const DOCUMENT = openApiDocument();
const HASH = contractSha256(DOCUMENT);

/** The same value with the members of every object in an order that the numbers say. */
function reordered(value: JsonValue, next: () => number): JsonValue {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    return items.map((item) => reordered(item, next));
  }
  if (!isJsonObject(value)) return value;
  const rows = Object.entries(value).map(([name, member]) => ({ name, member, key: next() }));
  return Object.fromEntries(
    rows
      .toSorted((left, right) => left.key - right.key)
      .map(({ name, member }) => [name, reordered(member ?? null, next)]),
  );
}

type Path = readonly (string | number)[];

/** Every position of a document. */
function positionsOf(value: JsonValue | undefined, path: Path = []): readonly Path[] {
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = Array.isArray(
    value,
  )
    ? value.map((item: JsonValue, index): readonly [number, JsonValue] => [index, item])
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  return [path, ...members.flatMap(([name, member]) => positionsOf(member, [...path, name]))];
}

/** A copy in which one position has gone, or has another value. */
function changed(path: Path, way: "gone" | "other"): JsonObject {
  const copy: JsonObject = JSON.parse(JSON.stringify(DOCUMENT));
  let parent: object = copy;
  for (const name of path.slice(0, -1)) parent = Reflect.get(parent, name);
  const last = path.at(-1) ?? "";
  if (way === "other") Reflect.set(parent, last, { other: Reflect.get(parent, last) });
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else Reflect.deleteProperty(parent, last);
  return copy;
}

describe("contract_sha256", () => {
  it("is the same for every order of members and for every generation of the document", () => {
    expect(contractSha256(openApiDocument())).toBe(HASH);
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ noNaN: true })), (numbers) => {
        const copy = reordered(DOCUMENT, () => numbers.next().value);
        expect(isJsonObject(copy) && contractSha256(copy)).toBe(HASH);
      }),
      { numRuns: 8 },
    );
  });

  it("changes when any member of the document is removed or has another value", () => {
    const positions = positionsOf(DOCUMENT).slice(1);
    expect(positions.length).toBeGreaterThan(5_000);
    fc.assert(
      fc.property(
        fc.constantFrom(...positions),
        fc.constantFrom("gone" as const, "other" as const),
        (path, way) => {
          expect(contractSha256(changed(path, way)), path.join("/")).not.toBe(HASH);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is the same in another process", () => {
    const module = resolve(import.meta.dirname, "../../src/http/contract/openapi.ts");
    const code = `const { contractSha256, openApiDocument } = await import(${JSON.stringify(module)}); console.log(contractSha256(openApiDocument()));`;
    const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", code], {
      encoding: "utf8",
    });
    expect(printed.trim()).toBe(HASH);
  });

  it("is the value of /status, and the one that a client computes from /openapi.json", async () => {
    const { server } = await serve();
    const status: unknown = await (await fetch(`${server.url}/status`)).json();
    expect(status).toMatchObject({ contract_sha256: HASH, build_id: "0.0.0-test" });
    const fetched: JsonObject = JSON.parse(
      await (await fetch(`${server.url}/openapi.json`)).text(),
    );
    expect(contractSha256(fetched)).toBe(HASH);
  });
});
