import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildId } from "../../src/server/build-id.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-build-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(path, file, ".."), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  return path;
}

const FILES = { "main.js": "main", "http/send.js": "send", "http/send.js.map": "a map" };

describe("build_id", () => {
  it("is the version and a digest of the program's files, in any folder", () => {
    const first = buildId(undefined, "1.2.3", program("first", FILES));
    expect(first).toMatch(/^1\.2\.3\+[0-9a-f]{12}$/);
    cpSync(join(folder, "first"), join(folder, "moved"), { recursive: true });
    expect(buildId("", "1.2.3", `${join(folder, "moved")}/`)).toBe(first);
    expect(
      buildId(undefined, "1.2.3", program("mapped", { ...FILES, "http/send.js.map": "another" })),
    ).toBe(first);
    expect(buildId(undefined, "1.2.4", join(folder, "first"))).toBe(
      first.replace("1.2.3", "1.2.4"),
    );
  });

  it("changes when a file is changed, added, removed or renamed, and when bytes move to another file", () => {
    const files = [
      FILES,
      { ...FILES, "main.js": "other" },
      { ...FILES, "new.js": "" },
      { "main.js": "main" },
      { "main.j": "smain", "http/send.js": "send" },
    ];
    const ids = files.map((some, index) =>
      buildId(undefined, "1", program(`other-${index}`, some)),
    );
    const renamed = program("renamed", FILES);
    renameSync(join(renamed, "main.js"), join(renamed, "begin.js"));
    expect(new Set([...ids, buildId(undefined, "1", renamed)]).size).toBe(files.length + 1);
  });

  it("of this program is the same whenever it is requested", () => {
    expect(buildId(undefined, "0.1.0")).toBe(buildId(undefined, "0.1.0"));
  });

  it("is the operator's value, which must have the form of an id", () => {
    const image = "registry.example.com/signalbox@sha256:0123abcd";
    expect(buildId(image, "1.2.3")).toBe(image);
    for (const odd of ["two parts", "a\nline", "x".repeat(129)]) {
      expect(() => buildId(odd, "1.2.3")).toThrow(/^SIGNALBOX_BUILD_ID: must be/);
    }
  });
});
