import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { NO_EDITS, parse, TARGET } from "./support.ts";

function edit(more: JsonObject, flags: readonly string[]) {
  const provider = { ...TARGET.provider, flags };
  return responsesSurface.relay.edit(parse(more), TARGET.endpoint, provider, "reject", NO_EDITS);
}

describe("a provider of responses that refuses the wish for encrypted reasoning", () => {
  const sealed = "reasoning.encrypted_content";
  const logprobs = "message.output_text.logprobs";

  it("is relayed no such wish", () => {
    expect(edit({ include: [sealed] }, ["no_include"])).toMatchObject({ stripped: ["include"] });
    expect(edit({ include: [sealed] }, ["no_include"]).body).not.toHaveProperty("include");
  });

  it("is relayed the other wishes", () => {
    expect(edit({ include: [sealed, logprobs] }, ["no_include"])).toMatchObject({
      body: { include: [logprobs] },
      stripped: ["include"],
    });
    expect(edit({ include: [logprobs] }, ["no_include"])).toMatchObject({
      body: { include: [logprobs] },
      stripped: [],
    });
  });

  it("gets it relayed without the flag no_include", () => {
    expect(edit({ include: [sealed] }, [])).toMatchObject({
      body: { include: [sealed] },
      stripped: [],
    });
  });
});
