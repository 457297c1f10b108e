import { describe, expect, it } from "vitest";
import { EMBEDDINGS_REQUESTS } from "../../../src/dialects/openai-chat/embeddings-surface.ts";

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
    const read = EMBEDDINGS_REQUESTS.toCanon(BODY, { unknownFields: "forward", edits: edits });
    if ("code" in read) throw new Error(read.message);
    expect(read.stripped).toEqual(["user", "metadata"]);
    expect({ ...read.request.extras }).toEqual({ extra: [1] });
  });

  it("unknown members are forwarded, recorded or refused, as the route says", () => {
    const edits = { maxOutputTokens: null, stripFields: [] } as const;
    const forwarded = EMBEDDINGS_REQUESTS.toCanon(BODY, { unknownFields: "forward", edits: edits });
    expect("request" in forwarded && { ...forwarded.request.extras }).toEqual({
      metadata: { ticket: 7 },
      extra: [1],
    });
    expect(
      EMBEDDINGS_REQUESTS.toCanon(BODY, { unknownFields: "strip", edits: edits }),
    ).toMatchObject({
      stripped: ["user", "unknown_field"],
    });
    expect(
      EMBEDDINGS_REQUESTS.toCanon(BODY, { unknownFields: "reject", edits: edits }),
    ).toMatchObject({
      code: "unknown_field",
      param: "metadata",
    });
  });
});
