import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compileTable } from "../../src/compile/compile-table.ts";
import { PRESETS } from "../../src/compile/presets.ts";

/** Models that answer 400 to `max_tokens` in chat completions, by the vendor's own names. */
const REFUSING = /^(?:gpt-5|o\d)/;

const FLAG = "max_completion_tokens_field";

const SHIPPED = ["routes.yaml", "deploy/configuration/routes.yaml"];

describe("models that refuse max_tokens", () => {
  it.each(SHIPPED)("are served by providers with the renaming flag, in %s", (path) => {
    const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    const { table } = compileTable({ path, text });
    const endpoints = Object.values(table?.endpoints ?? {}).filter(
      ({ dialect, upstreamModel }) => dialect === "openai-chat" && REFUSING.test(upstreamModel),
    );
    expect(endpoints.length).toBeGreaterThan(0);
    for (const { id, provider } of endpoints)
      expect(table?.providers[provider]?.flags, id).toContain(FLAG);
  });

  it("are served by providers with the renaming flag, in every preset with such a sample", () => {
    const samples = Object.entries(PRESETS).filter(
      ([, { provider, sample }]) =>
        provider.dialect === "openai-chat" &&
        (REFUSING.test(sample?.model ?? "") || REFUSING.test(sample?.upstream_model ?? "")),
    );
    expect(samples.length).toBeGreaterThan(0);
    for (const [name, { provider }] of samples) expect(provider.flags, name).toContain(FLAG);
  });
});
