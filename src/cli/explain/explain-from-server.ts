import { canonicalJson, isJsonObject, type JsonObject } from "../../canon/json.ts";
import { ALWAYS_USED } from "../../canon/request.ts";
import { SHAPE_MEMBERS } from "../../http/contract/simulate-schema.ts";
import { perScalar } from "../../simulate/request-scalars.ts";
import type { SampleRequest } from "../../simulate/sample-request.ts";
import { callServer, KEY_NOT_ACCEPTED, serverKey, serverUrl } from "../terminal/call-server.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { printable } from "../terminal/printing.ts";
import { simulationBody, type Answer, refusedRequest } from "./explain-from-files.ts";
import type { ExplainOptions } from "./flags.ts";
import { preferencesJson } from "./sample-json.ts";

/**
 * Gets the explanation of a running server, with the key in the environment variable SIGNALBOX_KEY.
 *
 * @param body of `--request`; `null` where the sample is the whole request.
 * @throws {UsageError}
 * @throws {CommandError} where the server gives no explanation.
 */
export async function explainFromServer(
  options: ExplainOptions,
  server: string,
  body: JsonObject | null,
  io: CommandIo,
): Promise<Answer> {
  const url = simulateUrl(server, options.sample.operation);
  const key = serverKey(io, "route:simulate");
  const sent = body === null ? sampleBody(options) : wholeBody(options, body);
  const { status, body: answer } = await callServer({ url, method: "POST", key, body: sent });
  if (status !== 200) throw refusal(status, answer);
  if (answer?.["object"] !== "route.simulation") {
    throw new CommandError(
      "--server: the answer is not an explanation of Signalbox; check the address",
    );
  }
  const { workspace } = options.sample;
  if (options.isCallerGiven && answer["workspace"] !== workspace) {
    throw new CommandError(
      "SIGNALBOX_KEY: belongs to another workspace than the request of --point; use a key of that workspace",
    );
  }
  return {
    explanation: answer,
    notes: options.isCallerGiven ? keyNotes(answer, options.sample) : [],
  };
}

/** A server decides for the caller's key; a sample may be of another. */
function keyNotes({ key, budget }: JsonObject, sample: SampleRequest): readonly string[] {
  // A point without an owner is of a key whose owner policies do not see.
  const isSame =
    !isJsonObject(key) ||
    canonicalJson({ owner: "other", ...key }) === canonicalJson({ owner: "other", ...sample.key });
  const isAsLeft = typeof budget !== "string" || budget === (sample.budget ?? "unlimited");
  return [
    ...(isSame
      ? []
      : [
          "the key in SIGNALBOX_KEY has other attributes than the key in --point; the answer is for the key in SIGNALBOX_KEY",
        ]),
    ...(isAsLeft
      ? []
      : [`the budget of the key in SIGNALBOX_KEY is ${budget} now; the answer uses that`]),
  ];
}

function simulateUrl(server: string, operation: string): URL {
  const url = serverUrl(server, "/v1/route/simulate");
  url.searchParams.set("operation", operation);
  return url;
}

/** Only what differs from a plain request: an older server refuses unknown members. */
function sampleBody(options: ExplainOptions): JsonObject {
  const { sample } = options;
  // The server adds what every request of the operation uses.
  const features = sample.features.filter(
    (feature) => ALWAYS_USED[sample.operation]?.includes(feature) !== true,
  );
  return {
    ...(sample.model === "" ? {} : { model: sample.model }),
    ...(sample.preferences === null ? {} : { provider: preferencesJson(sample.preferences) }),
    ...(sample.needs.length === 0 ? {} : { needs: sample.needs }),
    ...(features.length === 0 ? {} : { features }),
    ...Object.fromEntries(
      perScalar((member, { name, plain }) =>
        sample[member] === plain ? [] : [[name, sample[member]]],
      ).flat(),
    ),
    ...(sample.signatureFamilies.length === 0
      ? {}
      : { signature_families: sample.signatureFamilies }),
    ...(sample.dimensions === null ? {} : { dimensions: sample.dimensions }),
    ...viewBody(options),
  };
}

function wholeBody(options: ExplainOptions, body: JsonObject): JsonObject {
  return { ...simulationBody(options, body), ...viewBody(options) };
}

function viewBody({ time, promoted }: ExplainOptions): JsonObject {
  return {
    ...(time === null ? {} : { time: { ...time } }),
    ...(promoted ? { promoted: true } : {}),
  };
}

/** What a server that answers anything but 200 means for the caller. */
function refusal(status: number, answer: JsonObject | null): CommandError {
  const error = isJsonObject(answer?.["error"]) ? answer["error"] : {};
  const { code, param, message } = error;
  if (status === 401) return new CommandError(KEY_NOT_ACCEPTED);
  if (status === 403) {
    return new CommandError(
      "SIGNALBOX_KEY: the key may not simulate; make one with --scopes route:simulate",
    );
  }
  if (status === 404 || status === 405) {
    return new CommandError(
      `--server: has no POST /v1/route/simulate (${status}); it is not Signalbox, or its address has another path`,
    );
  }
  if (code === "unknown_field" && typeof param === "string" && isOurs(param)) {
    return new CommandError(
      `--server: is older than this command and does not support ${param}; leave it out, or use --config with the server's files`,
    );
  }
  if (status === 400 && typeof code === "string" && typeof message === "string") {
    return refusedRequest({
      status,
      code: printable(code).slice(0, 64),
      message: printable(message).slice(0, 500),
    });
  }
  return new CommandError(`--server: answered with ${status}`);
}

/** Whether this command writes the member: then the server is older than the command. */
function isOurs(param: string): boolean {
  return param === "time" || param === "promoted" || SHAPE_MEMBERS.includes(param);
}
