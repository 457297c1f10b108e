import { isJsonObject, parseObject, type JsonObject, type JsonValue } from "../../json.ts";
import { objectAt } from "../../members.ts";
import type { Answer, Framing, StreamEvent } from "../../answer.ts";
import {
  CONVERSE_FAILURE,
  refuseConverse,
  requestIdentity,
  unauthorised,
} from "../../bedrock-converse/error.ts";
import { EVENT_STREAM } from "../../bedrock-converse/framing.ts";
import { bedrockCountTokens, modelIn } from "../../bedrock-converse/protocol.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import { protocolOf, type Call, type Simulation } from "../../simulate.ts";
import { MESSAGES_FAILURE } from "../error.ts";
import { completeMessage } from "../protocol.ts";
import { STOP_REASONS } from "../render.ts";
import { readMessagesRequest } from "../request.ts";

const SHARED: Omit<Simulation, "complete"> = {
  finishes: STOP_REASONS,
  // Frames have no lines.
  lacks: ["crlf", "noSpace", "keepalive"],
  codes: new Map(),
  modelIn,
  unauthorised,
  refuse: refuseConverse,
  failure: { ...CONVERSE_FAILURE, malformed: MESSAGES_FAILURE.malformed },
};

/** Bedrock's InvokeModel, for Anthropic's models. */
export const bedrockInvoke: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => invoke(call, false),
});

/** Bedrock's InvokeModelWithResponseStream, for Anthropic's models. */
export const bedrockInvokeStream: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => invoke(call, true),
});

const invokeCount: Protocol = protocolOf({ ...SHARED, complete: countInvoked });

/** Bedrock's CountTokens, for conversations and for bodies of InvokeModel. */
export const bedrockCount: Protocol = {
  ...bedrockCountTokens,
  answer: (exchange) => {
    const isInvoked = isJsonObject(exchange.body) && invokedBody(exchange.body) !== undefined;
    return (isInvoked ? invokeCount : bedrockCountTokens).answer(exchange);
  },
};

function invoke(call: Call, stream: boolean): Answer | Problem {
  const answer = completeMessage({ ...call, body: { ...call.body, stream } });
  if (!("kind" in answer)) return answer;
  const headers = requestIdentity(call.sequence);
  if (answer.kind === "json") return { ...answer, headers };
  return { ...answer, headers, events: answer.events.map(measured), framing: CHUNKS };
}

/** Members that Bedrock adds to the last event. */
const MEASUREMENTS = {
  "amazon-bedrock-invocationMetrics": {
    inputTokenCount: 1,
    outputTokenCount: 1,
    invocationLatency: 20,
    firstByteLatency: 10,
  },
};

function measured(event: StreamEvent): StreamEvent {
  return event.purpose === "done"
    ? { ...event, data: JSON.stringify({ type: event.name, ...MEASUREMENTS }) }
    : event;
}

/** Each event of the protocol goes inside a frame of its own; what fails is a frame itself. */
const CHUNKS: Framing = {
  contentType: EVENT_STREAM.contentType,
  encode: (event) => EVENT_STREAM.encode(event.purpose === "error" ? event : chunkOf(event)),
};

/** The padding hides the length of the text. */
function chunkOf(event: StreamEvent): StreamEvent {
  const data = JSON.stringify({ bytes: Buffer.from(event.data).toString("base64"), p: "abcdefgh" });
  return { ...event, name: "chunk", data };
}

/**
 * The member of a count that holds the body to be counted; `undefined` where it is a conversation
 * that is counted.
 */
function invokedBody({ input }: JsonObject): JsonValue | undefined {
  return isJsonObject(input) ? objectAt(input, "invokeModel").body : undefined;
}

function countInvoked(call: Call): Answer | Problem {
  const written = invokedBody(call.body);
  const body = parseObject(
    Buffer.from(typeof written === "string" ? written : "", "base64").toString(),
  );
  if (body === null)
    return invalid("input.invokeModel.body", "Member must be a JSON object in base64");
  const request = readMessagesRequest(body);
  if ("status" in request) return request;
  return {
    kind: "json",
    status: 200,
    headers: requestIdentity(call.sequence),
    body: JSON.stringify({ inputTokens: request.tokens }),
  };
}
