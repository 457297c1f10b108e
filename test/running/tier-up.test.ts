import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { tierUpEarly } from "../../src/server/tier-up.ts";

it("V8 has the settings by which a server's code is compiled early", () => {
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  const settings = tierUpEarly.toString().match(/--invocation[\w-]+/g) ?? [];
  expect(settings).toHaveLength(2);
  for (const setting of settings) expect(options).toContain(` ${setting} (`);
});
