import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../../src/canon/json.ts";
import { bodyValidator } from "../../../../src/http/validate-body.ts";
import { parseJsonBytes } from "../../../../src/dialects/json.ts";
import { rerankSurface } from "../../../../src/dialects/cohere-chat/rerank-surface.ts";
import { accepted, bytesOf, opened, TARGET_NAMES, read, sent, task } from "./target.ts";

const BODY: JsonObject = { model: "r", query: "what", documents: ["one", "two", "three"] };
const validate = bodyValidator(rerankSurface.contract.body);

/** Of a body as it comes over the wire: what the contract refuses, else what the surface does. */
function refusal(more: object): { readonly code: string; readonly param: string | null } | null {
  const body = parseJsonBytes(bytesOf({ ...BODY, ...more }));
  if (body === undefined) throw new Error("not JSON");
  const error = validate(body);
  if (error !== null) return { code: error.code, param: error.param };
  const outcome = read(body as JsonObject);
  return "code" in outcome ? { code: outcome.code, param: outcome.param } : null;
}

describe("the parser of rerank bodies", () => {
  it("reads the shape of a request", () => {
    const request = accepted({ ...BODY, provider: { only: ["p"] } });
    expect(request).toMatchObject({
      model: "r",
      preferences: { only: ["p"] },
      includeUsage: false,
    });
    expect(request.shape).toEqual({
      operation: "rerank",
      needs: [],
      features: [],
      stream: false,
      context: "to_1k",
      maxOutput: "unspecified",
      reasoningEffort: "unspecified",
      signatureFamilies: [],
      dimensions: null,
    });
  });

  it("estimates the size at four bytes a token", () => {
    const context = (bytes: number): string => {
      const request = rerankSurface.parse(BODY, bytes, { version: null, betas: [] });
      if ("code" in request) throw new Error(request.message);
      return request.shape.context;
    };
    expect([context(4_000), context(4_001), context(16_001)]).toEqual(["to_1k", "to_4k", "to_16k"]);
  });

  it("requires a protocol with max_tokens_per_doc where the member has a value", () => {
    const request = accepted({ ...BODY, max_tokens_per_doc: 100 });
    expect(request.shape.features).toEqual(["document_limit"]);
    expect(request.paths.get("document_limit")).toBe("max_tokens_per_doc");
    expect(accepted({ ...BODY, max_tokens_per_doc: null }).shape.features).toEqual([]);
  });

  const good: readonly object[] = [
    { documents: [{ text: "one", title: "t" }, "two"] },
    { top_n: 1 },
    { top_k: 1, top_n: 1 },
    {
      top_n: null,
      top_k: null,
      truncation: null,
      max_chunks_per_doc: null,
      rank_fields: null,
      user: null,
    },
    { rank_fields: ["text"] },
    { documents: [{ text: "one", image: null, content: "a note" }] },
    { documents: Array.from({ length: 10_000 }, () => "d") },
    { priority: 0 },
    { relevant_spans: { mode: "disabled" } },
  ];
  it.each(good)("%#: accepts the body", (more) => expect(refusal(more)).toBeNull());

  const bad: readonly (readonly [object, string, string])[] = [
    [{ query: "" }, "empty_input", "query"],
    [{ query: 1 }, "invalid_type", "query"],
    [{ documents: [] }, "invalid_value", "documents"],
    [{ documents: "one" }, "invalid_type", "documents"],
    [{ documents: ["one", "", "three"] }, "empty_input", "documents[1]"],
    [{ documents: ["one", "two", { text: "" }] }, "empty_input", "documents[2].text"],
    [{ documents: ["one", "two", "three", { title: "t" }] }, "missing_field", "documents[3].text"],
    [{ documents: [{ text: null }] }, "invalid_type", "documents[0].text"],
    [{ documents: [7] }, "invalid_type", "documents[0]"],
    [{ documents: [null] }, "invalid_type", "documents[0]"],
    [{ documents: [["one"]] }, "invalid_type", "documents[0]"],
    [
      { documents: ["one", { image: "https://x.example/i.png" }] },
      "unsupported_value",
      "documents[1].image",
    ],
    [{ documents: [{ text: "one", image: "data:" }] }, "unsupported_value", "documents[0].image"],
    [
      { documents: [{ type: "image_url", image_url: { url: "" } }] },
      "unsupported_value",
      "documents[0].image_url",
    ],
    [
      { documents: [{ content: [{ type: "text", text: "a" }] }] },
      "unsupported_value",
      "documents[0].content",
    ],
    [{ documents: Array.from({ length: 10_001 }, () => "d") }, "invalid_value", "documents"],
    [{ top_n: 0 }, "invalid_value", "top_n"],
    [{ top_k: -1 }, "invalid_value", "top_k"],
    [{ top_n: 1.5 }, "invalid_type", "top_n"],
    [{ top_n: "1" }, "invalid_type", "top_n"],
    [{ top_n: JSON.rawJSON("9007199254740993") }, "invalid_type", "top_n"],
    [{ documents: [JSON.rawJSON("1e999")] }, "invalid_type", "documents[0]"],
    [{ top_n: 1, top_k: 2 }, "conflicting_fields", "top_k"],
    [{ rank_fields: ["title"] }, "unsupported_value", "rank_fields"],
    [{ rank_fields: ["text", "title"] }, "unsupported_value", "rank_fields"],
    [{ rank_fields: [] }, "unsupported_value", "rank_fields"],
    [{ max_chunks_per_doc: 10 }, "unsupported_parameter", "max_chunks_per_doc"],
    [{ relevant_spans: { mode: "enabled" } }, "unsupported_parameter", "relevant_spans"],
    [{ relevant_spans: {} }, "unsupported_parameter", "relevant_spans"],
    [{ max_tokens_per_doc: 0 }, "invalid_value", "max_tokens_per_doc"],
    [{ truncation: "yes" }, "invalid_type", "truncation"],
    [{ provider: { nobody: 1 } }, "unknown_field", "provider.nobody"],
  ];
  it.each(bad)("%#: refuses the body by the name of the member", (more, code, param) =>
    expect(refusal(more)).toEqual({ code, param }),
  );

  it("quotes no document in a refusal", () => {
    const secret = "s3cret-canary";
    for (const documents of [
      [{ text: 1, title: secret }],
      [{ image: secret }],
      [{ [secret]: secret }],
    ]) {
      expect(JSON.stringify(read({ ...BODY, documents }))).not.toContain(secret);
    }
    expect(JSON.stringify(read({ ...BODY, rank_fields: [secret] }))).not.toContain(secret);
  });
});

describe("unknown members", () => {
  const body = { ...BODY, return_document: true };

  it("are refused with the nearest known name", () => {
    expect(rerankSurface.refuseUnknown(body, "reject")).toMatchObject({
      code: "unknown_field",
      param: "return_document",
    });
    expect(rerankSurface.refuseUnknown(body, "reject")?.message).toContain("return_documents");
    expect(rerankSurface.refuseUnknown(BODY, "reject")).toBeNull();
    expect(opened(body, ["cohere"], "reject")).toMatchObject({
      code: "unknown_field",
      param: "return_document",
    });
  });

  it("are taken out and recorded where the route strips them", () => {
    const made = task(body, TARGET_NAMES, "strip");
    expect(made.stripped).toEqual(["unknown_field"]);
    expect(made.refusals.size).toBe(0);
    for (const name of TARGET_NAMES)
      expect(JSON.stringify(sent(made, name).body)).not.toContain('"return_document"');
  });

  it("reach endpoints of the surface's own protocol only where the route forwards them", () => {
    const made = task({ ...body, user: "u" }, TARGET_NAMES, "forward");
    for (const name of ["cohere", "invoke"] as const) {
      expect(sent(made, name).body).toMatchObject({ return_document: true });
      expect(sent(made, name).body).not.toHaveProperty("user");
    }
    expect([...made.refusals.keys()]).toEqual(["jina", "voyage", "bedrock"]);
    expect(made.refusals.get("jina")).toMatchObject({
      status: 400,
      code: "unknown_field",
      param: "return_document",
    });
    expect(made.stripped).toEqual(["user"]);
  });

  it("cannot replace a member of ours", () => {
    const forwarded = parseJsonBytes(
      bytesOf('{"model":"r","query":"q","documents":["d"],"api_version":1,"__proto__":{"a":1}}'),
    );
    const { body: own } = sent(task(forwarded as JsonObject, ["invoke"], "forward"), "invoke");
    expect(own).toMatchObject({ api_version: 2 });
    expect(Object.keys(own as object)).toContain("__proto__");
  });
});

describe("the upstream request", () => {
  it("omits and records identity members and those of a policy", () => {
    const made = task({ ...BODY, user: "someone" }, TARGET_NAMES, "reject", {
      maxOutputTokens: null,
      stripFields: ["metadata", "user"],
    });
    expect(made.stripped).toEqual(["user"]);
    for (const name of TARGET_NAMES)
      expect(JSON.stringify(sent(made, name).body)).not.toContain("someone");
  });

  // A ranking is one input: only all documents together have an answer.
  it("is one call, which cannot have gaps", () => {
    const made = task(BODY, TARGET_NAMES);
    expect(made.parts.map(({ first, count }) => ({ first, count }))).toEqual([
      { first: 0, count: 1 },
    ]);
    expect(made).toMatchObject({ acceptsPartial: false, stripped: [], dropped: [] });
  });

  it("has the texts of documents without their other members", () => {
    const documents = [{ text: "one", secret: "s3cret" }, "two"];
    const made = task({ ...BODY, documents, return_documents: true }, TARGET_NAMES);
    for (const name of TARGET_NAMES) {
      const { body } = sent(made, name);
      expect(JSON.stringify(body)).not.toContain("s3cret");
      expect(JSON.stringify(body)).not.toContain('"return_documents":true');
    }
    expect(sent(made, "cohere").body).toMatchObject({ documents: ["one", "two"] });
    expect(made.dropped).toEqual(["document_members_dropped"]);
  });

  it.each<[string, readonly JsonValue[], readonly string[]]>([
    ["texts", ["one"], []],
    ["objects with a text only", [{ text: "one" }, { text: "two", title: null }], []],
    [
      "objects with more",
      ["one", { text: "two", title: "t" }, { text: "three", id: 3 }],
      ["document_members_dropped"],
    ],
    [
      "a member of a prototype's name",
      [JSON.parse('{"text":"one","__proto__":"x"}')],
      ["document_members_dropped"],
    ],
  ])("records that members of documents are not sent: %s", (_what, documents, dropped) => {
    expect(task({ ...BODY, documents }, TARGET_NAMES).dropped).toEqual(dropped);
  });

  it.each([
    ["top_n", { top_n: 2 }],
    ["top_k", { top_k: 2 }],
    ["both", { top_n: 2, top_k: 2 }],
    ["one of them null", { top_n: null, top_k: 2 }],
  ])("has the limit of %s", (_name, more) => {
    expect(sent(task({ ...BODY, ...more }, ["cohere"]), "cohere").body).toMatchObject({ top_n: 2 });
  });

  it("allows truncation only where the caller does", () => {
    const truncation = (more: object): unknown =>
      sent(task({ ...BODY, ...more }, ["voyage"]), "voyage").body;
    expect(truncation({})).toMatchObject({ truncation: false });
    expect(truncation({ truncation: null })).toMatchObject({ truncation: false });
    expect(truncation({ truncation: true })).toMatchObject({ truncation: true });
  });
});
