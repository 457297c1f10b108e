import type { UpstreamFailure } from "../../../../src/canon/failure.ts";
import type { ModelRow, ProviderRow } from "../../../../src/canon/table.ts";
import type { EmbedRequest, EmbedResult } from "../../../../src/canon/unary.ts";
import type { Target, UnaryUpstream } from "../../../../src/dialects/dialect.ts";
import { upstreamFor } from "../../../../src/dialects/exchange-plan.ts";
import type { DialectName } from "../../../../src/dialects/table.ts";
import { AnswerBytes } from "../../../../src/dialects/unary/answer-bytes.ts";
import { endpoint, model, provider } from "../../../support/table.ts";

export interface TargetOptions {
  readonly upstreamModel?: string;
  readonly provider?: Partial<ProviderRow>;
  readonly model?: Partial<ModelRow>;
}

/** A target that embeds; its model makes vectors of any length unless a test says which. */
export function targetFor(dialect: DialectName, more: TargetOptions = {}): Target {
  return {
    endpoint: endpoint("e", { dialect, upstreamModel: more.upstreamModel ?? "embedder" }),
    model: model("m", { operations: ["embed"], ...more.model }),
    provider: provider("p", { dialect, ...more.provider }),
  };
}

export function embedderOf(dialect: DialectName): UnaryUpstream<EmbedRequest, EmbedResult> {
  return upstreamFor("embed", dialect);
}

/** Two texts, and nothing said about them. */
export function asking(more: Partial<EmbedRequest> = {}): EmbedRequest {
  return {
    inputs: ["one", "two"],
    isScalar: false,
    dimensions: null,
    encoding: null,
    purpose: null,
    mayTruncate: null,
    extras: {},
    ...more,
  };
}

const encoder = new TextEncoder();

/** An answer on the wire; a string is sent as it is. */
export function wire(answer: unknown): Uint8Array {
  return encoder.encode(typeof answer === "string" ? answer : JSON.stringify(answer));
}

/** The bytes in two pieces, as a connection may cut them. */
export function inPieces(bytes: Uint8Array): AnswerBytes {
  const middle = bytes.length >> 1;
  return new AnswerBytes([bytes.subarray(0, middle), bytes.subarray(middle)]);
}

export function read(
  dialect: DialectName,
  answer: unknown,
  request: EmbedRequest = asking(),
  options: TargetOptions = {},
): EmbedResult | UpstreamFailure {
  return embedderOf(dialect).parseAnswer(
    inPieces(wire(answer)),
    request,
    targetFor(dialect, options),
  );
}

export function base64Of(numbers: readonly number[]): string {
  const bytes = new Uint8Array(numbers.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, number] of numbers.entries()) view.setFloat32(index * 4, number, true);
  return bytes.toBase64();
}
