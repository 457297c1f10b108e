import { IncomingMessage, ServerResponse, type IncomingHttpHeaders } from "node:http";
import { Socket } from "node:net";
import { Dispatcher } from "undici";
import type { ClientAnswer, RelayOutcome } from "../../src/dispatch/attempt.ts";
import { relayPlan } from "../../src/dispatch/relay-plan.ts";
import { arrangedPlan } from "../../src/dispatch/arrange.ts";
import { admit } from "../../src/http/authenticate.ts";
import { readBounds, commonHeaders } from "../../src/http/heads.ts";
import { INFERENCE_ENDPOINTS } from "../../src/http/contract/inference-endpoints.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { readBody } from "../../src/http/read-body.ts";
import { stopsOf } from "../../src/dispatch/stop-order.ts";
import type { InferenceCall } from "../../src/http/inference-call.ts";
import { admitToLimits } from "../../src/http/admission.ts";
import { Capacity } from "../../src/http/capacity.ts";
import { NodeAnswer } from "../../src/http/node-answer.ts";
import { Recorder } from "../../src/http/recorder.ts";
import { exchangePlans, prepareTranslations } from "../../src/http/translation.ts";
import { STAGES, type StageName } from "./budgets.ts";
import type { StartedRouter } from "./started-router.ts";

/** One stage, done for so many requests. Everything before it has been done once. */
export interface Stage {
  readonly name: StageName;
  readonly work: (requests: number) => Promise<void>;
}

/** A socket that takes every byte at once. */
class Sink extends Socket {
  override _read(): void {}
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done();
  }
  override _writev(_chunks: unknown, done: () => void): void {
    done();
  }
}

const ANSWER = Buffer.from(
  JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1_767_225_600,
    model: "bench-chat-1k",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "a".repeat(1_000), refusal: null },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 250, completion_tokens: 100, total_tokens: 350 },
  }),
);

const HEADERS = { "content-type": "application/json", "content-length": String(ANSWER.length) };
const NOTHING = (): void => {};
const CONTROLLER = {
  abort: NOTHING,
  pause: NOTHING,
  resume: NOTHING,
  aborted: false,
  paused: false,
  reason: null,
};

/** Answers every call at the end of the turn in which it is made. */
class AnsweringDispatcher extends Dispatcher {
  override dispatch(
    _options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    handler.onRequestStart?.(CONTROLLER, {});
    queueMicrotask(() => {
      handler.onResponseStart?.(CONTROLLER, 200, HEADERS, "OK");
      handler.onResponseData?.(CONTROLLER, ANSWER);
      handler.onResponseEnd?.(CONTROLLER, {});
    });
    return true;
  }
}

/** A client that takes every answer. */
const CLIENT: ClientAnswer = {
  closed: false,
  start: NOTHING,
  write: () => true,
  end: NOTHING,
  onClose: NOTHING,
  onDrain: NOTHING,
};

/** @param body of the request, JSON. */
export async function makeStages(
  { runtime, key }: StartedRouter,
  body: string,
): Promise<readonly Stage[]> {
  const endpoint = INFERENCE_ENDPOINTS.find(({ operation }) => operation === "chat.completions");
  if (endpoint === undefined || endpoint.surface.kind !== "generate")
    throw new Error("bench: no chat completions");
  const { surface } = endpoint;
  const bytes = Buffer.from(body);
  const headers: IncomingHttpHeaders = {
    host: "127.0.0.1:8080",
    "content-type": "application/json",
    "content-length": String(bytes.length),
    authorization: `Bearer ${key}`,
  };
  const socket = new Socket();
  const newIncoming = (): IncomingMessage => {
    const incoming = new IncomingMessage(socket);
    incoming.method = "POST";
    incoming.url = endpoint.path;
    incoming.headers = headers;
    return incoming;
  };
  const incoming = newIncoming();
  const sink = new Sink();
  const { snapshot } = runtime.snapshots.take();
  const { decider, connections } = snapshot;
  const capacity = new Capacity(runtime.limits);
  if (endpoint.body === null) throw new Error("bench: no schema of bodies");
  const validate = bodyValidator(endpoint.body);
  const admitted = await admit(runtime, incoming, new ServerResponse(incoming), endpoint);
  if (admitted.error !== null) throw new Error("bench: the key is refused");
  const { identity } = admitted;
  const value = JSON.parse(body);
  const request = surface.parse(value, bytes.length, { version: null, betas: [] });
  if ("code" in request) throw new Error("bench: the body is refused");
  const decision = decider.decideRequest(identity, request);
  if (decision.outcome !== "route") throw new Error("bench: the request is denied");
  const route = decider.table.routes[decision.route];
  if (route === undefined) throw new Error("bench: no such route");
  const prepared = prepareTranslations(decider.table, surface, request, route, decision);
  if ("code" in prepared) throw new Error("bench: the request cannot be translated");
  const unrecorded = {
    ...runtime,
    evidence: { begin: () => ({ needed: NOTHING }), settle: NOTHING },
  };
  const newRecorder = (): Recorder =>
    new Recorder(unrecorded, snapshot, endpoint.operation, runtime.newRequestId(), null, headers);
  const common = commonHeaders(runtime.newRequestId(), null, []);
  const call: InferenceCall = {
    runtime,
    endpoint,
    incoming,
    response: new ServerResponse(incoming),
    snapshot,
    requestId: runtime.newRequestId(),
    common,
    recorder: newRecorder(),
    identity,
    bounds: { deadline: Infinity, maxAttempts: 4, maxBatchSize: null },
    stops: stopsOf(runtime, identity),
  };
  call.recorder.caller = identity;
  const dispatcher = new AnsweringDispatcher();
  const stubbed = new Map(
    [...connections].map(([id, connection]) => [id, { ...connection, dispatcher }]),
  );
  const recording = { result: Promise.resolve(null), needed: NOTHING };
  const dispatch = (): Promise<RelayOutcome> => {
    const arranged = arrangedPlan(runtime, prepared.decision, route, request, headers);
    return relayPlan(
      {
        request,
        ...arranged,
        endpoints: runtime.endpoints,
        callTracer: null,
        exchangePlans: exchangePlans(
          decider.table,
          request,
          route,
          prepared,
          arranged.plan,
          call.requestId,
        ),
        connections: stubbed,
        deadline: performance.now() + 60_000,
        maxAttempts: 4,
        resends: false,
        random: Math.random,
        maxAnswerBytes: runtime.limits.answerBytes,
        stopOrder: call.stops,
        countsTokens: true,
        recording,
        answerHeaders: (candidate, attempt, known) =>
          call.recorder.answerHeaders(route.id, [candidate], attempt, known),
      },
      CLIENT,
    );
  };
  const outcome = await dispatch();
  const answerHeaders = [
    "content-type",
    "application/json",
    "content-length",
    String(ANSWER.length),
  ];

  const work: Readonly<Record<StageName, () => unknown>> = {
    read: () => {
      const hold = capacity.hold(identity, decider.table);
      const arriving = newIncoming();
      const read = readBody(arriving, runtime.limits, { stopOrder: call.stops, hold });
      arriving.push(bytes);
      arriving.push(null);
      return read.finally(() => hold.releaseAll());
    },
    authenticate: () => {
      const entering = admit(runtime, incoming, call.response, endpoint);
      readBounds(headers, runtime.limits.requestTime);
      stopsOf(runtime, identity);
      return entering;
    },
    validate: () => validate(value),
    parse: () => surface.parse(value, bytes.length, { version: null, betas: [] }),
    decide: () => {
      const made = decider.decideRequest(identity, request);
      return (
        made.outcome === "route" &&
        prepareTranslations(decider.table, surface, request, route, made)
      );
    },
    limits: async () => {
      const taking = admitToLimits(call, request, prepared.decision, {
        bytes: bytes.length,
        calls: 1,
      });
      const admission = taking instanceof Promise ? await taking : taking;
      if ("code" in admission) throw new Error("bench: beyond a limit");
      admission.relayed(outcome, request.shape);
      admission.settleInFull();
    },
    record: async () => {
      const recorder = newRecorder();
      recorder.read(bytes.length);
      recorder.caller = identity;
      recorder.decided({ request, decision }, performance.now() + 60_000).needed();
      recorder.dispatched(route, decision, []);
      recorder.relayed(outcome, ANSWER.length, { estimated: false, cost: 2_000 });
      recorder.close();
    },
    dispatch,
    answer: () => {
      const response = new ServerResponse(incoming);
      response.assignSocket(sink);
      const client = new NodeAnswer(response, common, runtime.limits.writeTime);
      client.onClose(NOTHING);
      client.onDrain(NOTHING);
      const [candidate] = decision.plan;
      const own = call.recorder.answerHeaders(route.id, [candidate], 1, {
        edits: 0,
        stripped: [],
        dropped: [],
      });
      client.start(200, [...answerHeaders, ...own]);
      client.end(ANSWER);
      response.detachSocket(sink);
    },
  };
  return STAGES.map((name) => ({ name, work: repeated(work[name]) }));
}

function repeated(once: () => unknown): Stage["work"] {
  return async (requests) => {
    for (let left = requests; left > 0; left -= 1) {
      const done = once();
      if (done instanceof Promise) await done;
    }
  };
}
