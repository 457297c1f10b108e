import type { RequestEdits } from "../../canon/decision.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { BodyReader, InferenceRequest } from "../../canon/request.ts";
import type { Members } from "../json.ts";
import { readKinds } from "../kinds.ts";
import { OPENAI_FAMILY } from "../openai-chat/family.ts";
import { CHAT_KINDS } from "../openai-chat/parse-request.ts";
import {
  RequestReading,
  UNSPECIFIED,
  inferenceRequest,
  isEmptyValue,
  refusingUnknown,
  shownName,
  untranslatable,
  type FieldRegistry,
} from "../request-reading.ts";
import { keptMembers } from "../translate-request.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type { UnknownFields } from "../../canon/table.ts";
import type {
  AnswerContext,
  RequestReader,
  Target,
  UnaryResult,
  UnaryUpstream,
} from "../dialect.ts";
import type { AnswerBytes } from "./answer-bytes.ts";

/** How a product requests one JSON answer: embeddings, rerank, moderations. */
export interface UnarySurface extends RequestReader {
  readonly kind: "unary";
  /**
   * Uses, records or refuses every leaf of the body, and cuts a batch into parts that every target
   * accepts.
   */
  readonly open: (request: InferenceRequest, options: UnaryOptions) => UnaryTask | ServiceError;
}

export interface UnaryOptions {
  readonly unknownFields: UnknownFields;
  readonly edits: RequestEdits;
  /** The candidates of the plan, in its order. */
  readonly targets: readonly Target[];
  /** Most inputs in one call, as the caller requests; `null` if it does not. */
  readonly maxBatchSize: number | null;
}

/** One request, to be sent in parts and joined again. */
export interface UnaryTask {
  /** In the order of the request; at least one. */
  readonly parts: readonly UnaryPart[];
  /** Registered names of removed members. */
  readonly stripped: readonly string[];
  readonly dropped: readonly DroppedField[];
  /** Endpoint id → the 400 of an endpoint that cannot carry the request. */
  readonly refusals: ReadonlyMap<string, ServiceError>;
  /** The caller accepts an answer with gaps (`on_partial: report`). */
  readonly acceptsPartial: boolean;
  /**
   * The whole answer, once every part has ended. A failed part occurs only if the caller accepts
   * gaps and another part has succeeded.
   */
  readonly answer: (ends: readonly PartEnd[], context: AnswerContext) => UnaryAnswer;
}

/** Inputs that go upstream together. */
export interface UnaryPart {
  /** Index of its first input in the request, from 0. */
  readonly first: number;
  /** How many inputs it has. */
  readonly count: number;
  readonly callTo: (target: Target) => UnaryCall;
}

/** One part in the protocol of one endpoint. */
export interface UnaryCall {
  /** Path after the provider's base URL. */
  readonly path: string;
  readonly body: string;
  readonly dropped: readonly DroppedField[];
  /**
   * Headers for the simulated upstream, so that it answers as the model would; sent to no provider.
   * Names and values by turns.
   */
  readonly simulated?: readonly string[];
  /** An answer with status 200, checked. */
  readonly read: (answer: AnswerBytes) => UnaryResult | UpstreamFailure;
  /** Makes a failure of an answer with an error status. */
  readonly readError: (status: number, bytes: Uint8Array) => UpstreamFailure;
}

/** How a part ended: with a result and the endpoint's own answer, or with an error. */
export type PartEnd =
  | { readonly result: UnaryResult; readonly bytes: AnswerBytes }
  | { readonly failure: ServiceError };

export interface UnaryAnswer {
  readonly bytes: AnswerBytes;
  readonly dropped: readonly DroppedField[];
  /** Inputs without a result; 0 unless the caller accepts gaps. */
  readonly gaps: number;
}

/** A part in the protocol of one endpoint; the 400 where the endpoint cannot carry it. */
export function callTo<Request, Result extends UnaryResult>(
  upstream: UnaryUpstream<Request, Result>,
  request: Request,
  target: Target,
): UnaryCall | ServiceError {
  const formatted = upstream.format(request, target);
  if ("code" in formatted) return formatted;
  return {
    ...formatted,
    body: JSON.stringify(formatted.body),
    read: (answer) => upstream.parseAnswer(answer, request, target),
    readError: upstream.readError,
  };
}

/** A task before the removed members and dropped fields of its body are added. */
type PlannedTask = Omit<UnaryTask, "stripped" | "dropped">;

/** How a unary endpoint reads its bodies and plans its calls. */
interface SurfaceFacts<Request> extends Pick<UnarySurface, "dialect" | "contract"> {
  readonly operation: "embeddings" | "rerank" | "moderations";
  readonly registry: FieldRegistry;
  /** Estimates for limits. */
  readonly reader: BodyReader;
  /**
   * The walk over a validated body: its canonical request, and in `reading` its requirements.
   *
   * @param extras unknown members for endpoints of the surface's own protocol.
   */
  readonly read: (body: JsonObject, reading: RequestReading, extras: JsonObject) => Request;
  /** As the parameter of `readKinds`. */
  readonly isNative?: boolean;
  readonly plan: (request: Request, options: UnaryOptions, body: JsonObject) => PlannedTask;
}

/** A surface that parses validated bodies, and makes tasks of them. */
export function unarySurface<
  Request extends { readonly extras: JsonObject; readonly dimensions?: number | null },
>(facts: SurfaceFacts<Request>): UnarySurface {
  const { dialect, contract, operation, registry, reader, read, isNative, plan } = facts;
  return {
    kind: "unary",
    dialect,
    contract,
    family: OPENAI_FAMILY,
    refuseUnknown: refusingUnknown(registry, operation),
    parse: (body, bytes, headers) => {
      const reading = new RequestReading("native_chat");
      reading.noteFields(body, registry);
      const { dimensions = null } = read(body, reading, {});
      readKinds(body, registry, CHAT_KINDS, reading, isNative);
      const parsed = { ...UNSPECIFIED, operation, dimensions, body, bytes, headers, reader };
      return inferenceRequest(reading, parsed);
    },
    open: ({ body }, options) => {
      const reading = new RequestReading("native_chat", options.unknownFields);
      // Without a prototype, so that a member `__proto__` is sent as a member.
      const extras: Members = Object.create(null);
      const members = keptMembers(registry, body, options.edits, reading, extras);
      const request = read(members, reading, extras);
      const { refusal, stripped, dropped } = reading;
      return refusal ?? { ...plan(request, options, body), stripped, dropped: [...dropped] };
    },
  };
}

/** The 400 of an endpoint of another protocol for forwarded members; `null` if there are none. */
export function refuseExtras(extras: JsonObject): ServiceError | null {
  const name = Object.keys(extras).find((extra) => !isEmptyValue(extras[extra]));
  return name === undefined ? null : untranslatable(shownName(name), "forward");
}

/** Endpoint id → the 400 of an endpoint whose protocol cannot express the request. */
export function refusalsIn(
  calls: ReadonlyMap<string, UnaryCall | ServiceError>,
): UnaryTask["refusals"] {
  const refusals = [...calls].flatMap(([id, call]) =>
    "code" in call ? [[id, call] as const] : [],
  );
  return new Map(refusals);
}

/** Endpoint id → the call to it. */
export function callsTo(
  targets: readonly Target[],
  call: (target: Target) => UnaryCall | ServiceError,
): ReadonlyMap<string, UnaryCall | ServiceError> {
  return new Map(targets.map((target) => [target.endpoint.id, call(target)]));
}

/** A request that is answered as a whole or not at all. */
export function singlePartTask(
  count: number,
  { targets }: UnaryOptions,
  call: (target: Target) => UnaryCall | ServiceError,
  answer: UnaryTask["answer"],
): PlannedTask {
  const calls = callsTo(targets, call);
  const callOf = ({ endpoint }: Target) => settled(calls.get(endpoint.id));
  return {
    parts: [{ first: 0, count, callTo: callOf }],
    refusals: refusalsIn(calls),
    acceptsPartial: false,
    answer,
  };
}

/** The call to an endpoint whose refusal is not among the task's. */
export function settled(call: UnaryCall | ServiceError | undefined): UnaryCall {
  if (call === undefined || "code" in call)
    throw new Error("unary: a call to an endpoint whose protocol cannot express the request");
  return call;
}

/** The result of a part that has succeeded. */
export function resultOf<Operation extends UnaryResult["operation"]>(
  end: PartEnd | undefined,
  operation: Operation,
): Extract<UnaryResult, { readonly operation: Operation }> {
  if (end === undefined || "failure" in end || !isResultOf(end.result, operation))
    throw new Error(`unary: an answer without a result of ${operation}`);
  return end.result;
}

function isResultOf<Operation extends UnaryResult["operation"]>(
  result: UnaryResult,
  operation: Operation,
): result is Extract<UnaryResult, { readonly operation: Operation }> {
  return result.operation === operation;
}
