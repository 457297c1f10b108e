import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import type { InferenceRequest } from "../../src/canon/request.ts";
import {
  COMPLETIONS_FIELDS,
  completionsSurface,
} from "../../src/dialects/openai-completions/dialect.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "../dialects/laws/target.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { PROVIDER_PREFERENCES_SCHEMA } from "../../src/dialects/contract-schemas.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const completionsUpstream = upstreamFor("generate", "openai-completions");

const schema = completionsSurface.contract.body;
const recordings = readRecordings("openai-completions");
const encoder = new TextEncoder();
const target = targetOf("openai-completions");
const validate = new Ajv2020({ strict: false, allowUnionTypes: true }).compile({
  ...schema,
  properties: { ...(schema.properties as JsonObject), provider: PROVIDER_PREFERENCES_SCHEMA },
});

function bodyOf({ request, streaming }: Recording): JsonObject {
  const body = request?.body;
  return isJsonObject(body)
    ? { ...body, model: "r" }
    : { model: "r", prompt: "recorded without its request", stream: streaming };
}

const isStream = ({ response }: Recording): boolean => response.body_type !== "json";

/**
 * Providers that answer this path in a grammar of their own: what they say is refused, not relayed
 * as if it were understood.
 */
function speaksTheProtocol({ response }: Recording): boolean {
  const text = typeof response.body === "string" ? response.body : JSON.stringify(response.body);
  return text.includes('"finish_reason"') && text.includes('"text"');
}

/** Why a body does not get past the door; `null` where it does. */
function refusalOf(body: JsonObject): string | null {
  if (!validate(body))
    return `schema ${validate.errors?.[0]?.instancePath ?? ""}${validate.errors?.[0]?.params.missingProperty ?? ""}`;
  const request = completionsSurface.parse(body, 100, NO_HEADERS);
  const error = "code" in request ? request : completionsSurface.refuseUnknown(body, "reject");
  return error === null ? null : `${error.code} ${error.param}`;
}

function parsed(body: JsonObject): InferenceRequest {
  const request = completionsSurface.parse(body, 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

describe.skipIf(recordings === null)(
  "recorded completions (needs ../shared/recordings beside the project)",
  () => {
    it("every request goes upstream unchanged, and is one text in canon, or is refused by name", () => {
      const refused: string[] = [];
      let passed = 0;
      for (const recording of recordings ?? []) {
        const body = bodyOf(recording);
        const reason = refusalOf(body);
        if (reason !== null) {
          refused.push(`${recording.host}: ${reason}`);
          continue;
        }
        const request = parsed(body);
        const edited = completionsSurface.relay.edit(
          request,
          target.endpoint,
          target.provider,
          "reject",
          NO_EDITS,
        );
        const { stream_options: _options, ...sent } = edited.body;
        // Members of another provider that hold null say nothing, and are taken out on record.
        const said = Object.entries(body).filter(
          ([name, value]) => value !== null || Object.hasOwn(COMPLETIONS_FIELDS, name),
        );
        expect(sent, recording.id).toEqual({
          ...Object.fromEntries(said),
          model: "upstream-model",
        });
        expect(edited.stripped.length, recording.id).toBe(Object.keys(body).length - said.length);
        expect(
          request.shape.features.filter((feature) => feature.startsWith("native_")),
          recording.id,
        ).toEqual([]);
        const canonical = completionsSurface.translation.toCanon(request, "reject", NO_EDITS);
        if ("code" in canonical) throw new Error(`${recording.id}: ${canonical.message}`);
        const prompt = Array.isArray(body.prompt) ? body.prompt[0] : body.prompt;
        expect(canonical.request.turns, recording.id).toMatchObject([
          { role: "user", content: [{ text: prompt }] },
        ]);
        expect(completionsUpstream.format(canonical.request, target), recording.id).toMatchObject({
          body: { prompt },
        });
        passed += 1;
      }
      const total = recordings?.length ?? 0;
      process.stdout.write(
        `openai-completions: ${total} requests, ${passed} passed, ${refused.length} refused (${refused.join("; ")}), 0 failed\n`,
      );
      // One request is of another path.
      expect(refused.map((text) => text.split(" ").slice(-2).join(" "))).toEqual(["schema prompt"]);
    });

    it("every answer of the protocol is relayed unchanged and read as one text; every other is a failure", () => {
      let passed = 0;
      let failed = 0;
      for (const recording of recordings ?? []) {
        const context = contextOf(
          parsed({
            model: "r",
            prompt: "x",
            stream: recording.streaming,
            ...(isStream(recording) ? { stream_options: { include_usage: true } } : {}),
          }),
        );
        const bytes = encoder.encode(
          isStream(recording) ? streamText(recording) : JSON.stringify(recording.response.body),
        );
        const [ending, relayed] = isStream(recording)
          ? relay(bytes, context)
          : whole(bytes, context);
        const events = isStream(recording)
          ? upstreamEvents([bytes])
          : completionsUpstream.parseAnswer(bytes, CANON, target);
        const terminal = events.at(-1);
        if (!speaksTheProtocol(recording)) {
          // Chat answers have the envelope that a relay looks at; a translation needs the text.
          expect(terminal?.type, recording.id).toBe("failure");
          failed += 1;
          continue;
        }
        expect(ending, recording.id).toBeNull();
        expect(relayed, recording.id).toEqual(bytes);
        expect(terminal?.type, recording.id).toBe("finish");
        const reported = events
          .flatMap((event) => (event.type === "text" ? [event.text] : []))
          .join("");
        expect(reported, recording.id).toBe(recordedText(recording));
        passed += 1;
      }
      process.stdout.write(
        `openai-completions: ${passed + failed} answers, ${passed} passed, ${failed} refused (another grammar), 0 failed\n`,
      );
      expect([passed, failed]).toEqual([(recordings?.length ?? 0) - 3, 3]);
    });

    it("every stream, cut at every event boundary, is a failure before its finish reason", () => {
      let cuts = 0;
      for (const recording of (recordings ?? []).filter(isStream)) {
        const events = new SseFramer().push(encoder.encode(`${streamText(recording)}\n\n`));
        const context = contextOf(parsed({ model: "r", prompt: "x", stream: true }));
        for (let kept = 0; kept < events.length; kept += 1) {
          const before = events.slice(0, kept);
          const said = before.map((event) => parseSseEvent(event).data ?? "");
          if (said.some((data) => data === "[DONE]" || /"finish_reason": ?"/.test(data))) continue;
          const observer = completionsSurface.relay.observe(context);
          for (const event of before) observer.push(event);
          const closing = observer.endStream();
          expect(closing.ending.failure, `${recording.id} cut after ${kept}`).not.toBeNull();
          expect(closing.events, recording.id).toEqual([]);
          expect(upstreamEvents(before).at(-1), `${recording.id} cut after ${kept}`).toMatchObject({
            type: "failure",
          });
          cuts += 1;
        }
      }
      process.stdout.write(`openai-completions: ${cuts} cuts before the end, all failures\n`);
      expect(cuts).toBeGreaterThan(100);
    });
  },
);

const CANON = (() => {
  const canonical = completionsSurface.translation.toCanon(
    parsed({ model: "r", prompt: "x" }),
    "reject",
    NO_EDITS,
  );
  if ("code" in canonical) throw new Error(canonical.message);
  return canonical.request;
})();

function upstreamEvents(pieces: readonly Uint8Array[]) {
  const parser = completionsUpstream.parseStream(CANON, target);
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.endAnswer()];
}

function relay(bytes: Uint8Array, context: ReturnType<typeof contextOf>) {
  const observer = completionsSurface.relay.observe(context);
  const sent = observer.push(bytes);
  const { ending, events } = observer.endStream();
  return [ending.failure, new Uint8Array(Buffer.concat([...sent, ...events]))] as const;
}

function whole(bytes: Uint8Array, context: ReturnType<typeof contextOf>) {
  const answer = completionsSurface.relay.readAnswer(bytes, context);
  return [answer.ending.failure, answer.bytes] as const;
}

/** The text as a reader of the recording would find it. */
function recordedText(recording: Recording): string {
  const texts = isStream(recording)
    ? [...streamText(recording).matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => data ?? "")
    : [JSON.stringify(recording.response.body)];
  return texts
    .map((text): { choices: readonly { text: string }[] } => JSON.parse(text))
    .flatMap(({ choices }) => choices.map(({ text }) => text))
    .join("");
}
