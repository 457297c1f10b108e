import { AnswerBytes } from "../../src/dialects/unary/answer-bytes.ts";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { moderationsSurface } from "../../src/dialects/openai-chat/moderations-surface.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "../support/dialects.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";

const recordings = readRecordings("moderations");
const target = targetOf("openai-chat");
const validate = bodyValidator(moderationsSurface.contract.body);

/**
 * What becomes of one exchange: `null` where request and answer pass unchanged, otherwise who
 * refused it and why.
 */
function refusalOf({ id, request, response }: Recording): string | null {
  const recorded = request?.body;
  const body: JsonObject = isJsonObject(recorded)
    ? recorded
    : { input: "recorded without its request" };
  const invalid = validate(body);
  if (invalid !== null) return `request ${invalid.code} ${invalid.param}`;
  const parsed = moderationsSurface.parse(body, 100, NO_HEADERS);
  if ("code" in parsed) return `request ${parsed.code} ${parsed.param}`;
  const options = {
    unknownFields: "reject",
    edits: NO_EDITS,
    targets: [target],
    maxBatchSize: null,
  } as const;
  const task = moderationsSurface.open(parsed, options);
  if ("code" in task) return `request ${task.code} ${task.param}`;
  const call = task.parts[0]?.callTo(target);
  if (call === undefined) throw new Error(`${id}: no part`);
  expect(JSON.parse(call.body), id).toEqual({ ...body, model: "upstream-model" });
  const bytes = new TextEncoder().encode(JSON.stringify(response.body));
  if (response.status !== 200) {
    expect(call.readError(response.status ?? 0, bytes).status, id).toBe(response.status);
    return null;
  }
  const answer = new AnswerBytes([bytes]);
  const result = call.read(answer);
  if ("kind" in result) return `answer ${result.kind} ${result.code}`;
  expect(result, id).toMatchObject({ isVerbatim: true });
  expect(task.answer([{ result, bytes: answer }], contextOf(parsed)).bytes, id).toBe(answer);
  return null;
}

describe.skipIf(recordings === null)(
  "recorded moderations (needs ../shared/recordings beside the project)",
  () => {
    it("every exchange is relayed unchanged, or is refused by name", () => {
      const all = recordings ?? [];
      const refused = all.flatMap((recording) => {
        const reason = refusalOf(recording);
        return reason === null ? [] : [`${recording.host}: ${reason}`];
      });
      process.stdout.write(
        `moderations: ${all.length} exchanges, ${all.length - refused.length} passed, ${refused.length} refused (${refused.join("; ")}), 0 failed\n`,
      );
      expect(all.length).toBeGreaterThan(0);
      expect(refused).toEqual([]);
    });
  },
);
