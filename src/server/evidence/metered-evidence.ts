import { isOperation, type Operation, MODEL_OPERATION_OF } from "../../canon/operation.ts";
import type { Runtime, RequestSizes } from "../../http/runtime.ts";
import { hasReachedProvider } from "../../canon/failure.ts";
import type { OutcomeRecord } from "../../evidence/record.ts";

/**
 * Evidence that also reports the tokens that the requests of each exchanged token used. The records and the sizes have it all, so the requests' own path
 * need not know of tokens.
 */
export function meteredEvidence(
  evidence: Runtime["evidence"],
  spend: (tokenId: string, tokens: number) => void,
): Runtime["evidence"] {
  const running = new Map<string, { readonly token: string; readonly operation: Operation }>();
  return {
    decide(record) {
      const { token, operation, outcome } = record;
      if (token !== undefined && outcome === "route" && isOperation(operation)) {
        running.set(record.requestId, { token, operation });
      }
      return evidence.decide(record);
    },
    settle(record, sizes) {
      const known = running.get(record.requestId);
      if (known !== undefined) {
        running.delete(record.requestId);
        spend(known.token, spentTokens(known.operation, record, sizes));
      }
      evidence.settle(record, sizes);
    },
  };
}

const BYTES_PER_TOKEN = 4;

/**
 * Tokens that a request counts for against a token's ceiling. What the provider counted; where it did not, as in an answer that its reader left, what the
 * bytes tell. A request that reached a provider counts for at least one.
 */
export function spentTokens(operation: Operation, outcome: OutcomeRecord, sizes: RequestSizes): number {
  // The calls are those of the other request, which counts them.
  if (outcome.joined !== undefined || operation === "messages.count_tokens") return 0;
  const read = Math.ceil(sizes.request / BYTES_PER_TOKEN);
  // It was on its way to a provider, and left before anybody saw how far it came.
  if (outcome.attempts.length === 0) return Math.max(1, read);
  const reached = outcome.attempts.filter(({ failure }) => failure === null || hasReachedProvider(failure));
  if (reached.length === 0) return 0;
  const costly = reached.filter(({ failure, status }) => failure === null || status === null || status < 400);
  if (costly.length === 0) return 1;
  const input = outcome.inputTokens ?? read;
  if (MODEL_OPERATION_OF[operation] !== "generate") {
    const lost = costly.some(({ failure }) => failure !== null);
    return Math.max(1, lost ? Math.max(input, read) : input);
  }
  const sent = Math.ceil(sizes.answer / BYTES_PER_TOKEN);
  const isWhole = outcome.terminal === "completed" || outcome.terminal === "incomplete";
  // A provider's count before a cut often covers only the first word.
  const output = isWhole ? (outcome.outputTokens ?? sent) : Math.max(outcome.outputTokens ?? 0, sent);
  return Math.max(1, costly.length * input + output);
}
