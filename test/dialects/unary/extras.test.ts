import { describe, expect, it } from "vitest";
import { readEmbeddingsRequest } from "../../../src/dialects/openai-chat/embeddings-surface.ts";

const BODY = {
  model: "r",
  input: "a",
  user: "somebody",
  metadata: { ticket: 7 },
  novelty: null,
  extra: [1],
};

describe("what is taken out of a body", () => {
  it("identity and what a policy takes out is recorded and sent nowhere, on a route that forwards too", () => {
    const edits = { maxOutputTokens: null, stripFields: ["metadata"] } as const;
    const read = readEmbeddingsRequest(BODY, "forward", edits);
    if ("code" in read) throw new Error(read.message);
    expect(read.stripped).toEqual(["user", "metadata"]);
    expect({ ...read.request.extras }).toEqual({ extra: [1] });
  });

  it("unknown members are forwarded, recorded or refused, as the route says", () => {
    const edits = { maxOutputTokens: null, stripFields: [] } as const;
    const forwarded = readEmbeddingsRequest(BODY, "forward", edits);
    expect("request" in forwarded && { ...forwarded.request.extras }).toEqual({
      metadata: { ticket: 7 },
      extra: [1],
    });
    expect(readEmbeddingsRequest(BODY, "strip", edits)).toMatchObject({
      stripped: ["user", "unknown_field"],
    });
    expect(readEmbeddingsRequest(BODY, "reject", edits)).toMatchObject({
      code: "unknown_field",
      param: "metadata",
    });
  });
});
