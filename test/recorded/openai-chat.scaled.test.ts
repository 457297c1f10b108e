import { describe, expect, it } from "vitest";
import { CAPABILITY_NAMES } from "../../src/canon/capability.ts";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import { contextOf, NO_HEADERS } from "../dialects/laws/target.ts";
import { positionsToCut } from "../support/long.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import {
  post,
  startRouter,
  startUpstream,
  tableOver,
  type Router,
  type Upstream,
} from "../support/router.ts";

const recordings = readRecordings("openai-chat");
const streams = (recordings ?? []).filter(
  ({ status, response }) =>
    status === 200 && (response.body_type === "sse" || response.body_type === "jsonl-chunks"),
);
const encoder = new TextEncoder();

/** Members that the router owns: it sets, edits or takes them out. */
const OWNED = new Set([
  "model",
  "store",
  "stream_options",
  "user",
  "metadata",
  "safety_identifier",
  "provider",
]);

function bodyOf(recording: Recording): JsonObject {
  const body = recording.request?.body;
  if (isJsonObject(body)) return { ...body, model: "r" };
  return {
    model: "r",
    messages: [{ role: "user", content: "recorded without its request" }],
    stream: recording.streaming,
  };
}

/**
 * Without the router's own members, and without the empty lists of calls that it omits from
 * histories.
 */
function withoutOwned(body: JsonObject): JsonObject {
  const kept = Object.entries(body).filter(
    ([name, value]) => !OWNED.has(name) && !isEmptyList(value),
  );
  const text = JSON.stringify(Object.fromEntries(kept), (name, value: unknown) =>
    name === "tool_calls" && Array.isArray(value) && value.length === 0 ? undefined : value,
  );
  return JSON.parse(text);
}

/** `tools: []` is not sent: OpenAI refuses it. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function jsonEvents(text: string): readonly unknown[] {
  const framer = new SseFramer();
  const bytes = encoder.encode(text);
  return [...framer.push(bytes), framer.lastEvent()].flatMap((event) => {
    const { data } = parseSseEvent(event);
    return data === null || data === "[DONE]" ? [] : [JSON.parse(data)];
  });
}

/**
 * The chunk that only reports usage, and `usage: null` in the others, belong to the router when the
 * caller did not request them.
 */
function expectedEvents(recording: Recording): readonly unknown[] {
  const options = bodyOf(recording).stream_options;
  const requested = isJsonObject(options) && options.include_usage === true;
  const events = jsonEvents(streamText(recording)).map((event) => {
    if (requested || !isJsonObject(event) || event.usage !== null) return event;
    const { usage: _, ...rest } = event;
    return rest;
  });
  return events.filter((event) => {
    const onlyUsage =
      isJsonObject(event) &&
      isJsonObject(event.usage) &&
      Array.isArray(event.choices) &&
      event.choices.length === 0;
    return requested || !onlyUsage;
  });
}

/** A router whose one upstream answers with whichever recording is on. */
async function replayer(): Promise<{
  router: Router;
  upstream: Upstream;
  play: (recording: Recording) => void;
}> {
  let current: Recording | null = null;
  const upstream = await startUpstream((response) => {
    if (current === null) throw new Error("nothing to replay");
    const { status, response: recorded } = current;
    const isStream = recorded.body_type === "sse" || recorded.body_type === "jsonl-chunks";
    response.writeHead(status ?? 200, {
      "content-type": isStream ? "text/event-stream" : "application/json",
    });
    response.end(isStream ? streamText(current) : JSON.stringify(recorded.body));
  });
  const base = tableOver([upstream]);
  const [row, workspace, endpoint] = [base.routes.r, base.workspaces.w, base.endpoints.a];
  if (row === undefined || workspace === undefined || endpoint === undefined)
    throw new Error("no rows");
  const table = {
    ...base,
    endpoints: { a: { ...endpoint, capabilities: CAPABILITY_NAMES } },
    routes: { r: { ...row, unknownFields: "forward" as const } },
    workspaces: {
      w: { ...workspace, approve: { ...workspace.approve, capabilities: CAPABILITY_NAMES } },
    },
  };
  return {
    router: await startRouter({ table }),
    upstream,
    play: (recording) => (current = recording),
  };
}

describe.skipIf(recordings === null)(
  "recorded chat completions (skipped where ../shared/recordings is absent)",
  () => {
    it(
      "every exchange is relayed with unchanged request and answer",
      { timeout: 120_000 },
      async () => {
        const { router, upstream, play } = await replayer();
        const refused = new Map<string, number>();
        let equal = 0;
        for (const recording of recordings ?? []) {
          play(recording);
          upstream.calls.length = 0;
          const sent = bodyOf(recording);
          const response = await post(router, sent);
          const text = await response.text();
          if (upstream.calls.length === 0) {
            // Only what we own or cannot approve may stop a request before it leaves.
            const { error } = JSON.parse(text);
            expect(response.status, recording.id).toBe(400);
            expect(
              [
                "unsupported_stateful_feature",
                "unsupported_routing_field",
                "unknown_field",
                "unknown_preference",
                "missing_field",
                "invalid_type",
                "unknown_tool_type",
                "unknown_content_part",
                "invalid_stream_options",
              ],
              `${recording.id} ${text}`,
            ).toContain(error.code);
            const reason = `${error.code} ${error.param}`;
            refused.set(reason, (refused.get(reason) ?? 0) + 1);
            continue;
          }
          const arrived: JsonObject = JSON.parse(upstream.calls[0]?.body ?? "null");
          expect(withoutOwned(arrived), recording.id).toEqual(withoutOwned(sent));
          expect(arrived, recording.id).toMatchObject({ model: "upstream-a", store: false });
          compareAnswer(recording, response.status, text);
          equal += 1;
        }
        const total = recordings?.length ?? 0;
        const reasons = [...refused].map(([reason, count]) => `${count} × ${reason}`).join(", ");
        process.stdout.write(
          `openai-chat: ${total} exchanges, ${equal} equal, ${total - equal} refused (${reasons}), 0 failed\n`,
        );
        expect(equal).toBeGreaterThan(total * 0.95);
      },
    );

    it(
      "every stream, cut at every event boundary, is a failure before its terminal event",
      { timeout: 60_000 },
      () => {
        let cuts = 0;
        for (const recording of streams) {
          const events = new SseFramer().push(encoder.encode(`${streamText(recording)}\n\n`));
          const request = chatSurface.parse(
            { ...bodyOf(recording), stream: true },
            100,
            NO_HEADERS,
          );
          if ("code" in request) continue;
          for (const kept of positionsToCut(events.length, 8)) {
            const observer = chatSurface.relay.observe(contextOf(request));
            for (const event of events.slice(0, kept)) observer.push(event);
            const { ending, events: closing } = observer.endStream();
            const said = events.slice(0, kept).map((event) => parseSseEvent(event).data ?? "");
            const finished = said.some(
              (data) => data === "[DONE]" || /"finish_reason": ?"/.test(data),
            );
            cuts += 1;
            if (finished) continue;
            expect(ending.failure, `${recording.id} cut after ${kept}`).not.toBeNull();
            expect(closing, recording.id).toEqual([]);
          }
        }
        process.stdout.write(`openai-chat: ${streams.length} streams, ${cuts} cuts\n`);
        expect(cuts).toBeGreaterThan(streams.length);
      },
    );

    it("every stream, cut at any byte before its last event, never arrives as whole", () => {
      for (const recording of streams) {
        const bytes = encoder.encode(streamText(recording));
        const request = chatSurface.parse({ ...bodyOf(recording), stream: true }, 100, NO_HEADERS);
        if ("code" in request) continue;
        const firstFinish = Buffer.from(bytes)
          .toString("latin1")
          .search(/"finish_reason": ?"|\[DONE\]/);
        const limit = firstFinish === -1 ? bytes.length : firstFinish;
        // Forty positions a stream, spread so that they fall inside lines, numbers and characters.
        for (let position = 1; position < limit; position += Math.ceil(limit / 40)) {
          const observer = chatSurface.relay.observe(contextOf(request));
          observer.push(bytes.subarray(0, position));
          expect(
            observer.endStream().ending.failure,
            `${recording.id} cut at byte ${position}`,
          ).not.toBeNull();
        }
      }
    });
  },
);

function compareAnswer(recording: Recording, status: number, text: string): void {
  const { response } = recording;
  if (recording.status === null || recording.status >= 400) {
    expect(status, recording.id).toBeGreaterThanOrEqual(400);
    const { error } = JSON.parse(text);
    expect(typeof error.message, recording.id).toBe("string");
    const upstreamMessage = JSON.stringify(response.body).match(/"message": ?"([^"]{12,})/)?.[1];
    if (upstreamMessage !== undefined) expect(text, recording.id).not.toContain(upstreamMessage);
    return;
  }
  if (
    response.body_type === "json" &&
    !(isJsonObject(response.body) && Array.isArray(response.body.choices))
  ) {
    // Three recordings are of another protocol behind the same path: not an answer, so not relayed
    // as one.
    expect([status, JSON.parse(text).error.code], recording.id).toEqual([
      502,
      "upstream_malformed",
    ]);
    return;
  }
  if (response.body_type === "json") {
    expect(status, `${recording.id} ${text.slice(0, 200)}`).toBe(200);
    // Together's `eos` arrives as the protocol's own value.
    const mapped = JSON.parse(
      JSON.stringify(response.body).replaceAll('"finish_reason":"eos"', '"finish_reason":"stop"'),
    );
    expect(JSON.parse(text), recording.id).toEqual(mapped);
    return;
  }
  const arrived = jsonEvents(text);
  const recorded = expectedEvents(recording);
  const broke = recorded.findIndex(
    (event) => isJsonObject(event) && event.error !== undefined && event.error !== null,
  );
  if (broke === -1) {
    expect(arrived, recording.id).toEqual(recorded);
    expect(text.trimEnd().endsWith("data: [DONE]"), recording.id).toBe(true);
    return;
  }
  // A stream that broke upstream arrives as far as it went, then fails with our error.
  if (status === 200) expect(arrived.slice(0, -1), recording.id).toEqual(recorded.slice(0, broke));
  expect(text, recording.id).toContain('"error"');
  expect(text, recording.id).not.toContain('"failed_generation"');
}
