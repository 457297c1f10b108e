import { AnswerBytes } from "../../src/dialects/unary/answer-bytes.ts";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { rerankSurface } from "../../src/dialects/cohere-chat/rerank-surface.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { bytesOf, targetOf, type TargetName } from "../dialects/unary/rerank/target.ts";
import { contextOf, NO_EDITS, NO_HEADERS } from "../support/dialects.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";

const recordings = readRecordings("rerank");
const validate = bodyValidator(rerankSurface.contract.body);

/** Who speaks which protocol; all others speak Jina's. */
const SPEAKERS: readonly (readonly [RegExp, TargetName])[] = [
  [/cohere/, "cohere"],
  [/voyage/, "voyage"],
  [/bedrock/, "bedrock"],
];

/** What answers among the recordings are that rank nothing. */
const STRANGE: readonly (readonly [RegExp, string])[] = [
  [/"embedding"/, "an answer of embeddings"],
];

/** What is sent besides what recorded clients said, and why. */
const ADDED: Readonly<Record<TargetName, JsonObject>> = {
  cohere: {},
  invoke: {},
  // Documents are not requested back, whatever a provider does by itself.
  jina: { return_documents: false },
  // The same; and its default is to cut in silence.
  voyage: { return_documents: false, truncation: false },
  bedrock: {},
};

const targetNameOf = ({ host }: Recording): TargetName =>
  SPEAKERS.find(([pattern]) => pattern.test(host))?.[1] ?? "jina";

function listIn(answer: JsonObject): readonly JsonObject[] {
  const list = answer.results ?? answer.data;
  return Array.isArray(list) ? list.filter((item: JsonValue) => isJsonObject(item)) : [];
}

/** A result independent of any protocol: where the document stood, and its score. */
const plain = (result: JsonObject): readonly unknown[] => [
  result.index,
  result.relevance_score ?? result.relevanceScore,
];

/** The recorded request, or one that the recorded answer fits. */
function bodyOf({ request }: Recording, answer: JsonObject): JsonObject {
  const body = request?.body;
  if (isJsonObject(body)) return body;
  const results = listIn(answer);
  const positions = results.map(({ index }) => (typeof index === "number" ? index : 0));
  const documents = Array.from(
    { length: Math.max(...positions) + 1 },
    (_, named) => `document ${named}`,
  );
  return { model: "recorded without its request", query: "q", documents, top_n: results.length };
}

/** The recorded request as it would go out from here. */
function expectedRequest(body: JsonObject, name: TargetName): unknown {
  const { top_n: topN, top_k: topK, documents, ...said } = body;
  const present = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
  const limit = topN ?? topK ?? null;
  const count = Array.isArray(documents) ? documents.length : 0;
  // Never more results than documents are requested: some providers refuse that.
  const bound =
    limit === null
      ? {}
      : { [name === "voyage" ? "top_k" : "top_n"]: Math.min(Number(limit), count) };
  return { ...ADDED[name], ...present, documents, ...bound };
}

/** Why an exchange is not for us; `null` once everything about it has been compared. */
function refusalOf(recording: Recording): string | null {
  const answer = recording.response.body;
  if (!isJsonObject(answer)) return "an answer that is no object";
  const name = targetNameOf(recording);
  const body = bodyOf(recording, answer);
  const request = validate(body) ?? rerankSurface.parse(body, 100, NO_HEADERS);
  if ("code" in request) return `${request.code} ${request.param}`;
  const unknown = rerankSurface.refuseUnknown(body, "reject");
  if (unknown !== null) return `${unknown.code} ${unknown.param}`;
  const named = targetOf(name);
  const target = { ...named, endpoint: { ...named.endpoint, upstreamModel: request.model } };
  const options = {
    unknownFields: "reject",
    edits: NO_EDITS,
    targets: [target],
    maxBatchSize: null,
  } as const;
  const task = rerankSurface.open(request, options);
  if ("code" in task) throw new Error(`${recording.id}: ${task.message}`);
  const [call] = task.parts.map((part) => part.callTo(target));
  if (call === undefined) throw new Error(`${recording.id}: no call`);
  if (recording.request !== null) {
    expect(JSON.parse(call.body), recording.id).toEqual(expectedRequest(body, name));
  }
  const bytes = new AnswerBytes([bytesOf(answer)]);
  const result = call.read(bytes);
  if ("kind" in result) {
    const strange = STRANGE.find(([pattern]) => pattern.test(JSON.stringify(answer)));
    if (strange === undefined) throw new Error(`${recording.id}: ${result.code}`);
    return strange[1];
  }
  const rendered: JsonObject = JSON.parse(
    new TextDecoder().decode(task.answer([{ result, bytes }], contextOf(request)).bytes.whole),
  );
  expect(listIn(rendered).map(plain), recording.id).toEqual(listIn(answer).map(plain));
  compareCounts(recording, answer, rendered);
  return null;
}

function compareCounts(
  { id }: Recording,
  { meta, usage, model }: JsonObject,
  rendered: JsonObject,
): void {
  const units = isJsonObject(meta) ? meta.billed_units : undefined;
  if (units !== undefined) expect(rendered.meta, id).toMatchObject({ billed_units: units });
  const total = isJsonObject(usage) ? usage.total_tokens : undefined;
  if (total !== undefined) expect(rendered.usage, id).toEqual({ total_tokens: total });
  if (model !== undefined) expect(rendered.model, id).toBe(model);
}

describe.skipIf(recordings === null)(
  "recorded rerank (needs ../shared/recordings beside the project)",
  () => {
    it("every request is sent unchanged, every answer is relayed with the same order and counts", () => {
      const refused: string[] = [];
      let passed = 0;
      for (const recording of recordings ?? []) {
        const reason = refusalOf(recording);
        if (reason === null) passed += 1;
        else refused.push(`${recording.host}: ${reason}`);
      }
      const total = recordings?.length ?? 0;
      process.stdout.write(
        `rerank: ${total} exchanges, ${passed} passed, ${refused.length} refused (${refused.join("; ")}), ${total - passed - refused.length} failed\n`,
      );
      // What else is refused must be looked at: it may be ours to take.
      expect(refused.filter((reason) => !reason.endsWith(": an answer of embeddings"))).toEqual([]);
      expect(passed).toBe(total - refused.length);
    });
  },
);
