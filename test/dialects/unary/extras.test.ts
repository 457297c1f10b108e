import { describe, expect, it } from "vitest";
import type { ServiceError } from "../../../src/canon/error.ts";
import type { UnknownFields } from "../../../src/canon/table.ts";
import { embeddingsSurface } from "../../../src/dialects/openai-chat/embeddings-surface.ts";
import type { UnaryTask } from "../../../src/dialects/unary/surface.ts";
import { NO_HEADERS, targetOf } from "../../support/dialects.ts";

const BODY = {
  model: "r",
  input: "a",
  user: "somebody",
  metadata: { ticket: 7 },
  novelty: null,
  extra: [1],
};
const TARGET = targetOf("openai-chat");

function opened(
  unknownFields: UnknownFields,
  stripFields: readonly "metadata"[] = [],
): UnaryTask | ServiceError {
  const request = embeddingsSurface.parse(BODY, 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  const edits = { maxOutputTokens: null, stripFields };
  return embeddingsSurface.open(request, {
    unknownFields,
    edits,
    targets: [TARGET],
    maxBatchSize: null,
  });
}

function sent(task: UnaryTask | ServiceError): unknown {
  if ("code" in task) throw new Error(task.message);
  return JSON.parse(task.parts[0]?.callTo(TARGET).body ?? "");
}

const KNOWN = { model: "upstream-model", input: "a" };

describe("members that are taken out of a body", () => {
  it("identity and the policy's fields are recorded and sent nowhere, on a route that forwards too", () => {
    const task = opened("forward", ["metadata"]);
    expect(task).toMatchObject({ stripped: ["user", "metadata"] });
    expect(sent(task)).toEqual({ ...KNOWN, extra: [1] });
  });

  it("unknown members are forwarded, recorded or refused, by the route's mode", () => {
    expect(sent(opened("forward"))).toEqual({ ...KNOWN, metadata: { ticket: 7 }, extra: [1] });
    expect(opened("strip")).toMatchObject({ stripped: ["user", "unknown_field"] });
    expect(opened("reject")).toMatchObject({ code: "unknown_field", param: "metadata" });
  });
});
