import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import type { InferenceRequest } from "../../src/canon/request.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { RESPONSES_FIELDS } from "../../src/dialects/openai-responses/request-facts.ts";
import { fillEvent } from "../../src/dialects/openai-responses/resource.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "../support/dialects.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";
import { RESOURCE_MEMBERS } from "../dialects/openai-responses/support.ts";

const responsesUpstream = upstreamFor("generate", "openai-responses");

const recordings = readRecordings("openai-responses");
const streams = (recordings ?? []).filter(
  ({ status, response }) =>
    status === 200 && (response.body_type === "sse" || response.body_type === "jsonl-chunks"),
);
const encoder = new TextEncoder();
const validate = bodyValidator(responsesSurface.contract.body);
const target = targetOf("openai-responses");

/** Members that the router owns: it sets, edits or takes them out. */
const OWNED = new Set(["model", "store", ...Object.keys(RESPONSES_FIELDS).filter(isOwned)]);

function isOwned(name: string): boolean {
  const kind = RESPONSES_FIELDS[name]?.class;
  return kind === "identity" || kind === "ours";
}

/**
 * Two recordings are not JSON everywhere or not of this protocol; three say a status that the
 * protocol does not have; four were still going on.
 */
const BROKEN =
  /parallel-tool-call-wrapper|azure-deepseek-reasoning|test_openai_previous_response_id|test_background_mode/;

/** The one stream whose deltas were cut out by hand. */
const SHORTENED = /openai__openai-phase/;

function bodyOf({ request, streaming }: Recording): JsonObject {
  return isJsonObject(request?.body)
    ? { ...request.body, model: "r" }
    : { model: "r", input: "unknown", stream: streaming };
}

/** The request, or why it is refused. */
function parsed(body: JsonObject): InferenceRequest | string {
  const error = validate(body);
  const request = error ?? responsesSurface.parse(body, 100, NO_HEADERS);
  if ("code" in request) return `${request.code} ${request.param ?? ""}`;
  const unknown = responsesSurface.refuseUnknown(body, "reject");
  return unknown === null ? request : `${unknown.code} ${unknown.param ?? ""}`;
}

const anyContext = contextOf(
  (() => {
    const request = parsed({ model: "r", input: "hi", stream: true });
    if (typeof request === "string") throw new Error(request);
    return request;
  })(),
);

function eventsOf(text: string): readonly Uint8Array[] {
  return new SseFramer()
    .push(encoder.encode(`${text}\n\n`))
    .filter((event) => parseSseEvent(event).data !== null);
}

function jsonEvents(text: string): readonly JsonObject[] {
  return eventsOf(text).flatMap((event) => {
    const { data } = parseSseEvent(event);
    const value: unknown = data === "[DONE]" ? null : JSON.parse(data ?? "null");
    return isJsonObject(value) ? [value] : [];
  });
}

/**
 * What the router promises of every resource is added; what the provider said must be there as it
 * was.
 */
function expectSame(arrived: unknown, recorded: unknown, id: string): void {
  expect(arrived, id).toMatchObject(Object(recorded));
  if (isJsonObject(arrived) && isJsonObject(recorded)) {
    const added = Object.keys(arrived).filter((name) => !Object.hasOwn(recorded, name));
    // Events of texts have their probabilities, be there any or none.
    const promised: readonly string[] = [...RESOURCE_MEMBERS, "logprobs", "request_id"];
    expect(
      added.filter((name) => !promised.includes(name)),
      id,
    ).toEqual([]);
  }
}

function textOf(pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces).toString("utf8");
}

describe.skipIf(recordings === null)(
  "recorded responses (skipped where ../shared/recordings is absent)",
  () => {
    it("every request goes upstream unchanged or is refused by name, and survives canon where canon can express it", () => {
      const refused = new Map<string, number>();
      let equal = 0;
      let native = 0;
      let translated = 0;
      for (const recording of recordings ?? []) {
        const body = bodyOf(recording);
        const request = parsed(body);
        if (typeof request === "string") {
          expect(request, recording.id).toMatch(
            /^(unsupported_stateful_feature|unknown_field|invalid_value) \S/,
          );
          refused.set(request, (refused.get(request) ?? 0) + 1);
          continue;
        }
        const endpoint = { ...target.endpoint, capabilities: [] };
        const edited = responsesSurface.relay.edit(
          request,
          endpoint,
          target.provider,
          "reject",
          NO_EDITS,
        );
        const rest = (from: JsonObject): JsonObject =>
          Object.fromEntries(Object.entries(from).filter(([name]) => !OWNED.has(name)));
        expect(rest(edited.body), recording.id).toEqual(rest(body));
        expect(edited.body, recording.id).toMatchObject({ model: "upstream-model", store: false });
        equal += 1;
        if (request.shape.features.includes("native_responses")) {
          native += 1;
          continue;
        }
        const canonical = responsesSurface.translation.toCanon(request, "reject", NO_EDITS);
        if ("code" in canonical)
          throw new Error(`${recording.id} ${canonical.code} ${canonical.param ?? ""}`);
        const formatted = responsesUpstream.format(canonical.request, target);
        if ("code" in formatted)
          throw new Error(`${recording.id} ${formatted.code} ${formatted.param ?? ""}`);
        const again = parsed(formatted.body);
        if (typeof again === "string") throw new Error(`${recording.id} ${again}`);
        const back = responsesSurface.translation.toCanon(again, "reject", NO_EDITS);
        if ("code" in back) throw new Error(`${recording.id} ${back.code}`);
        // Strictness is always said upstream; `dropped` has what else differs.
        if (formatted.dropped.length === 0) {
          const tools = canonical.request.tools.map((tool) => ({
            ...tool,
            strict: tool.strict ?? false,
          }));
          expect(back.request, recording.id).toEqual({ ...canonical.request, tools });
        }
        translated += 1;
      }
      const total = recordings?.length ?? 0;
      const reasons = [...refused].map(([reason, count]) => `${count} × ${reason}`).join(", ");
      process.stdout.write(
        `openai-responses requests: ${total} exchanges, ${equal} equal (${translated} in canon, ${native} native only), ${total - equal} refused (${reasons}), 0 failed\n`,
      );
      expect(equal + [...refused.values()].reduce((sum, count) => sum + count, 0)).toBe(total);
      expect(translated).toBeGreaterThan(total * 0.7);
    });

    it("every whole answer is relayed with all its members, or fails", () => {
      let relayed = 0;
      let failed = 0;
      for (const { id, status, response } of recordings ?? []) {
        if (response.body_type !== "json") continue;
        const answer = responsesSurface.relay.readAnswer(
          encoder.encode(JSON.stringify(response.body)),
          anyContext,
        );
        if (status !== 200 || BROKEN.test(id)) {
          if (status !== 200) expect(answer.ending.failure, id).not.toBeNull();
          failed += answer.ending.failure === null ? 0 : 1;
          relayed += answer.ending.failure === null ? 1 : 0;
          continue;
        }
        expect(answer.ending.failure, id).toBeNull();
        expectSame(JSON.parse(textOf([answer.bytes])), response.body, id);
        relayed += 1;
      }
      process.stdout.write(
        `openai-responses whole answers: ${relayed} relayed, ${failed} failures reported\n`,
      );
      expect(relayed).toBeGreaterThan(350);
    });

    it("every stream is relayed unchanged, and means the same as its whole answer", () => {
      let relayed = 0;
      let reported = 0;
      for (const recording of streams) {
        const text = streamText(recording);
        if (BROKEN.test(recording.id)) continue;
        const observer = responsesSurface.relay.observe(anyContext);
        const begun = observer.push(encoder.encode(`${text}\n\n`));
        const { ending, events: closing } = observer.endStream();
        const recorded = jsonEvents(text);
        const arrived = jsonEvents(textOf([...begun, ...closing]));
        const broke = recorded.findIndex(
          ({ type }) => type === "error" || type === "response.failed",
        );
        if (broke !== -1) {
          expect(ending.failure, recording.id).toMatchObject({ kind: "error_frame" });
          expect(textOf([...begun, observer.fail(FAILURE)])).not.toContain(
            "exceeded your current quota",
          );
          continue;
        }
        const ended = recorded.findIndex(
          ({ type }) => type === "response.completed" || type === "response.incomplete",
        );
        expect(ending.failure, recording.id).toBeNull();
        expect(arrived, recording.id).toHaveLength(ended + 1);
        for (const [position, event] of arrived.entries()) {
          const { response, ...rest } = event;
          const { response: original, ...others } = recorded[position] ?? {};
          // Numbers of events and lists that text parts lack are added, and nothing else.
          const { type } = others;
          const numbered = { sequence_number: position, ...others };
          expect(rest, recording.id).toEqual(
            typeof type === "string" ? fillEvent(type, numbered) : numbered,
          );
          if (response !== undefined) expectSame(response, original, recording.id);
        }
        relayed += 1;
        reported += meansItsWhole(recording, text, recorded[ended]?.response) ? 1 : 0;
      }
      process.stdout.write(
        `openai-responses streams: ${relayed} relayed as they were, ${reported} expressed in canon\n`,
      );
      expect(relayed).toBe(streams.length - 2);
      expect(reported).toBeGreaterThan(70);
    });

    it(
      "every stream, cut at every event boundary, is a failure before its terminal event",
      { timeout: 60_000 },
      () => {
        let cuts = 0;
        for (const recording of streams) {
          const events = eventsOf(streamText(recording));
          const observer = responsesSurface.relay.observe(anyContext);
          const parser = responsesUpstream.parseStream(anyCanon, target);
          const last = events.findIndex((event) =>
            /"type": ?"response\.(completed|incomplete)"/.test(textOf([event])),
          );
          // One pass a stream: every prefix is the state after one more event.
          for (const event of events.slice(0, last === -1 ? events.length : last)) {
            observer.push(event);
            expect(observer.hasEnded, recording.id).toBe(false);
            expect(
              parser.push(event).some(({ type }) => type === "finish"),
              recording.id,
            ).toBe(false);
            cuts += 1;
          }
          expect(observer.endStream().ending.failure, recording.id).not.toBeNull();
          expect(observer.endStream().events, recording.id).toEqual([]);
        }
        for (const recording of streams.slice(0, 30)) {
          const events = eventsOf(streamText(recording));
          for (let kept = 0; kept < events.length - 1; kept += 1) {
            const observer = responsesSurface.relay.observe(anyContext);
            const parser = responsesUpstream.parseStream(anyCanon, target);
            const given = Buffer.concat(events.slice(0, kept));
            observer.push(given);
            const reported = [...parser.push(given), ...parser.endAnswer()];
            if (textOf([given]).includes('"response.completed"')) continue;
            expect(
              observer.endStream().ending.failure,
              `${recording.id} cut after ${kept}`,
            ).not.toBeNull();
            expect(reported.at(-1), `${recording.id} cut after ${kept}`).toMatchObject({
              type: "failure",
            });
            cuts += 1;
          }
        }
        process.stdout.write(`openai-responses: ${streams.length} streams, ${cuts} cuts\n`);
        expect(cuts).toBeGreaterThan(5_000);
      },
    );
  },
);

const FAILURE = {
  status: 502,
  kind: "upstream",
  code: "upstream_error_frame",
  message: "It broke.",
  param: null,
  denial: null,
  retryable: true,
  retryAfter: null,
} as const;

const anyCanon = (() => {
  const canonical = responsesSurface.translation.toCanon(anyContext.request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.code);
  return canonical.request;
})();

/**
 * Whether the stream could be expressed in canon; if so, it must say what its last resource says.
 */
function meansItsWhole(recording: Recording, text: string, response: unknown): boolean {
  const parser = responsesUpstream.parseStream(anyCanon, target);
  const streamed = collectAnswer([
    ...parser.push(encoder.encode(`${text}\n\n`)),
    ...parser.endAnswer(),
  ]);
  const body = encoder.encode(JSON.stringify(response));
  const whole = collectAnswer(responsesUpstream.parseAnswer(body, anyCanon, target));
  if (streamed.failure !== null) {
    // Hosted tools' items are the only thing that recorded streams say and canon does not.
    expect(streamed.failure, recording.id).toMatchObject({ code: "unexpected_output_item" });
    return false;
  }
  expect(streamed.finish, recording.id).toEqual(whole.finish);
  expect(streamed.usage, recording.id).toEqual(whole.usage);
  if (SHORTENED.test(recording.id)) return true;
  // Providers seal the same reasoning anew for every event, and omit probabilities from the last
  // one.
  const plain = (answer: typeof whole): unknown =>
    answer.blocks.map((block) => ({ ...block, signature: null, logprobs: null }));
  expect(plain(streamed), recording.id).toEqual(plain(whole));
  return true;
}
