import { isOperation, type Operation } from "../../canon/operation.ts";
import type { Runtime } from "../../http/runtime.ts";
import { spentTokens } from "./spent-tokens.ts";

/**
 * Evidence that also tells what the requests of each exchanged token turned out to use. The records and the sizes have it all, so the requests' own path
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
