import { endedAt, namesOf, type DecisionRecord, type OutcomeRecord } from "../evidence/record.ts";
import type { Attributes } from "@opentelemetry/api";
import type { CallTraceEnd } from "../canon/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import type { ProviderRow } from "../canon/table.ts";
import type { EndedRequest } from "../evidence/observer.ts";

/**
 * `gen_ai.operation.name` of the semantic conventions where they define a value, otherwise ours.
 */
const GEN_AI_OPERATIONS: Readonly<Partial<Record<DecisionRecord["operation"], string>>> = {
  "chat.completions": "chat",
  responses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
};

export function genAiOperation(operation: DecisionRecord["operation"]): string {
  return GEN_AI_OPERATIONS[operation] ?? operation;
}

/**
 * Of the span of a whole request. Ids, enums and numbers; the conventions' attributes for content
 * are never set.
 */
export function requestAttributes({ decision, outcome }: EndedRequest): Attributes {
  const ended = endedAt(outcome);
  return {
    "gen_ai.operation.name": genAiOperation(decision.operation),
    "http.response.status_code": outcome.status,
    "signalbox.request_id": decision.requestId,
    "signalbox.terminal": outcome.terminal,
    "signalbox.stream": decision.stream,
    "signalbox.attempts": outcome.attempts.reduce((sum, { calls = 1 }) => sum + calls, 0),
    ...present("signalbox.workspace", decision.workspace),
    ...present("signalbox.route", decision.route),
    ...present("gen_ai.request.model", decision.route),
    ...present("gen_ai.provider.name", namesOf(ended, "provider")),
    ...(ended.length === 0
      ? {}
      : {
          "signalbox.endpoints": ended.map(({ endpoint }) => endpoint),
          "signalbox.regions": [...new Set(ended.map(({ region }) => region))],
        }),
    ...present("error.type", errorType(decision, outcome)),
    ...(outcome.finish === null ? {} : { "gen_ai.response.finish_reasons": [outcome.finish] }),
    ...present("gen_ai.usage.input_tokens", outcome.inputTokens),
    ...present("gen_ai.usage.output_tokens", outcome.outputTokens),
    ...present("gen_ai.usage.cache_read.input_tokens", outcome.cacheReadTokens),
  };
}

/** Of the span of the decision. */
export function decisionAttributes({ decision }: EndedRequest): Attributes {
  return {
    "signalbox.outcome": decision.outcome,
    "signalbox.table": decision.tableRevision,
    "signalbox.plan": [...decision.plan],
    "signalbox.would_deny": decision.wouldDeny.length,
    ...present("signalbox.policy", decision.policy),
    ...present("signalbox.policy_revision", decision.policyRevision),
    ...present("signalbox.constraint", decision.constraint),
    ...present("signalbox.reason", decision.reason),
  };
}

/** Of the span of one call, as far as they are known when it begins. */
export function callAttributes(
  operation: DecisionRecord["operation"],
  { endpoint }: Candidate,
  provider: ProviderRow,
): Attributes {
  const { hostname, port, protocol } = new URL(provider.baseUrl);
  return {
    "gen_ai.operation.name": genAiOperation(operation),
    "gen_ai.provider.name": provider.id,
    "gen_ai.request.model": endpoint.upstreamModel,
    "server.address": hostname,
    "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    "signalbox.endpoint": endpoint.id,
    "signalbox.region": endpoint.region,
  };
}

export function callEndAttributes({ failure, status, finish, usage }: CallTraceEnd): Attributes {
  return {
    ...present("http.response.status_code", status),
    ...present("error.type", failure?.kind ?? null),
    ...(finish === null ? {} : { "gen_ai.response.finish_reasons": [finish] }),
    ...present("gen_ai.usage.input_tokens", usage?.input ?? null),
    ...present("gen_ai.usage.output_tokens", usage?.output ?? null),
    ...present("gen_ai.usage.cache_read.input_tokens", usage?.cacheRead ?? null),
  };
}

/**
 * The value of `error.type`: the reason of a denial or refusal, the last attempt's failure, or how
 * it ended.
 */
export function errorType(
  { reason }: DecisionRecord,
  { terminal, attempts }: OutcomeRecord,
): string | null {
  if (terminal === "completed" || terminal === "incomplete") return null;
  return reason ?? attempts.at(-1)?.failure ?? terminal;
}

function present(name: string, value: string | number | null): Attributes {
  return value === null ? {} : { [name]: value };
}
