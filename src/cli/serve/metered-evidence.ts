import type { Runtime } from "../../http/runtime.ts";

/**
 * Evidence that also tells what the requests of each exchanged token turned out to use. The records have it all, so the requests' own path need not
 * know of tokens.
 */
export function meteredEvidence(
  evidence: Runtime["evidence"],
  spend: (tokenId: string, tokens: number) => void,
): Runtime["evidence"] {
  const running = new Map<string, string>();
  return {
    decide(record) {
      if (record.token !== undefined) running.set(record.requestId, record.token);
      return evidence.decide(record);
    },
    settle(record) {
      const token = running.get(record.requestId);
      if (token !== undefined) {
        running.delete(record.requestId);
        spend(token, (record.inputTokens ?? 0) + (record.outputTokens ?? 0));
      }
      evidence.settle(record);
    },
  };
}
