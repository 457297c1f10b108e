import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { Draft } from "./draft.ts";

/** The most and the least of `p`. */
const TOP_P = [0.01, 0.99] as const;

/** Stop sequences that a request may have. */
const MOST_STOPS = 5;

/** A number as the caller's protocol calls it, what it is called here, and the values that it may have. */
interface Bounded {
  readonly param: string;
  readonly name: string;
  readonly value: number | null;
  readonly least: number;
  readonly most: number;
}

/** Writes the numbers. Values outside this protocol's ranges are refused, never moved into them. */
export function formatSampling(request: GenerateRequest, { body, dropped }: Draft): ServiceError | null {
  const { topP, stop, logprobs } = request;
  // Among protocols whose `top_p` goes up to 1, that is to say nothing: here the default is less.
  if (topP === 1) dropped.add("top_p_limited");
  const numbers: readonly Bounded[] = [
    { param: "temperature", name: "temperature", value: request.temperature, least: 0, most: 1 },
    { param: "top_p", name: "p", value: topP === 1 ? TOP_P[1] : topP, least: TOP_P[0], most: TOP_P[1] },
    { param: "top_k", name: "k", value: request.topK, least: 0, most: 500 },
    { param: "seed", name: "seed", value: request.seed, least: 0, most: Number.MAX_SAFE_INTEGER },
    ...penalties(request),
  ];
  for (const { param, name, value, least, most } of numbers) {
    if (value === null) continue;
    if (value < least || value > most) return outside(param, `from ${least} to ${most}`);
    body[name] = value;
  }
  if (stop.length > MOST_STOPS) return outside("stop", `a list of at most ${MOST_STOPS} texts`);
  if (stop.length > 0) body["stop_sequences"] = stop;
  if (logprobs !== null) {
    body["logprobs"] = true;
    if (logprobs > 0) dropped.add("logprobs_coarser");
  }
  return null;
}

/** A penalty of 0 is what nobody asks for; some models refuse both members side by side, whatever they say. */
function penalties({ frequencyPenalty, presencePenalty }: GenerateRequest): readonly Bounded[] {
  return [
    { name: "frequency_penalty", value: frequencyPenalty },
    { name: "presence_penalty", value: presencePenalty },
  ].map(({ name, value }) => ({ param: name, name, value: value === 0 ? null : value, least: 0, most: 1 }));
}

function outside(param: string, range: string): ServiceError {
  return invalidRequest(
    "unsupported_value",
    `An endpoint that may get the request takes \`${param}\` only as ${range}`,
    param,
  );
}
