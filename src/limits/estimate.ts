import type { BodyReader } from "../canon/body-reader.ts";
import type { Capability } from "../canon/capability.ts";
import type { RequestEdits } from "../canon/decision.ts";
import type { JsonObject } from "../canon/json.ts";
import type { Operation } from "../canon/operation.ts";
import type { EndpointRow, ModelRow, Price } from "../canon/table.ts";
import type { Amounts } from "./meters.ts";
import { largestOutput } from "../canon/largest-output.ts";

/** What the most that a request may use is made from. */
export interface EstimatedRequest {
  readonly operation: Operation;
  /** In the caller's protocol, which `reader` reads. */
  readonly body: JsonObject;
  readonly reader: BodyReader;
  /** Size of the body as it arrived. */
  readonly bytes: number;
  readonly needs: readonly Capability[];
  readonly edits: RequestEdits;
  /** Calls that the request is cut into; at least 1. Each counts as a request: a batch in forty parts is forty calls to a provider. */
  readonly calls: number;
}

export interface EstimatedCandidate {
  readonly endpoint: EndpointRow;
  readonly model: ModelRow | undefined;
}

export interface Estimate {
  /** The reservation: never less than the request uses, as far as the request and the table show. */
  readonly amounts: Amounts;
  /** Tokens of `amounts`; the largest over all candidates. */
  readonly input: number;
  readonly output: number;
  /** Tokens of the input as they are likely to be counted, at most `input`. Computed at its first use. */
  readonly likelyInput: () => number;
  /** More tokens than a provider may be believed to have counted. */
  readonly most: number;
  /** Counts requests and nothing else: nothing is generated or read by a model. */
  readonly requestsOnly: boolean;
}

/** How many times the window and the output of a model a provider is believed to have counted: its own tools may read and write again and again. */
const BELIEVED = 16;

/** Bounds of what is believed, tokens: sums of such counts and their prices are far below 2^53. */
const LEAST_MOST = 2 ** 20;
const LARGEST_MOST = 2 ** 40;

const NOTHING_READ = { requests: 1, tokens: 0, microUsd: 0 };

/**
 * The most that a request may use, wherever it goes: never too little as far as the request and the table tell. A token is at least one byte of
 * the body; of what has no bytes there the surface's reader adds an allowance. Where there is a context window, no more than that can be read for one prompt.
 */
export function estimateRequest(request: EstimatedRequest, candidates: readonly EstimatedCandidate[]): Estimate {
  if (request.operation === "messages.count_tokens") {
    return { amounts: NOTHING_READ, input: 0, output: 0, likelyInput: () => 0, most: 0, requestsOnly: true };
  }
  const generates = OUTPUTS.has(request.operation);
  const { body, reader, needs } = request;
  const bound = request.bytes + reader.inputAllowance(body, needs);
  const limit = generates ? outputLimit(request) : 0;
  const prompts = reader.prompts(body);
  const choices = generates ? prompts * reader.choices(body) : 0;
  let tokens = 0;
  let microUsd = 0;
  let [input, output, most] = [0, 0, LEAST_MOST];
  for (const { endpoint, model } of candidates) {
    const read = generates ? Math.min(bound, prompts * (model?.contextWindow ?? bound)) : bound;
    const made = choices * Math.min(limit ?? Number.MAX_SAFE_INTEGER, largestOutput(model));
    tokens = Math.max(tokens, read + made);
    microUsd = Math.max(microUsd, costOf(endpoint.price, read, made, request.calls));
    input = Math.max(input, read);
    output = Math.max(output, made);
    most = Math.max(most, BELIEVED * (Math.max(read, prompts * (model?.contextWindow ?? 0)) + made));
  }
  most = Math.min(most, LARGEST_MOST);
  const amounts = { requests: request.calls, tokens, microUsd };
  return {
    amounts,
    input,
    output,
    likelyInput: () => Math.min(input, reader.likelyInput(body, needs)),
    most,
    requestsOnly: false,
  };
}

/** Millionths of a US dollar, rounded up; nothing for an endpoint without a price. */
export function costOf(price: Price | null, input: number, output: number, calls: number): number {
  if (price === null) return 0;
  // Dollars per million tokens are millionths of a dollar per token.
  const exact = input * price.input + output * price.output + calls * price.request * 1_000_000;
  // Mostly a whole number: writing it out to find that costs more than all the rest of an estimate.
  return Number.isInteger(exact) ? exact : Math.ceil(Number(exact.toFixed(6)));
}

const OUTPUTS: ReadonlySet<Operation> = new Set(["chat.completions", "completions", "responses", "messages"]);

/** The most that the request and a policy allow, tokens; `null` where neither has a limit. */
function outputLimit({ body, reader, edits }: EstimatedRequest): number | null {
  const own = reader.outputLimit(body);
  if (edits.maxOutputTokens === null) return own;
  return own === null ? edits.maxOutputTokens : Math.min(own, edits.maxOutputTokens);
}
