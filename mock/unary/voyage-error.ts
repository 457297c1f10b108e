import type { JsonAnswer, FailureGrammar } from "../answer.ts";
import { FAILURE_MESSAGE, requestIdentity } from "../openai/error.ts";
import type { Problem } from "../problem.ts";

/** An error in Voyage's shape: one sentence, and nothing that a machine could read. */
export function refuseVoyage({ status, message }: Problem, sequence: number): JsonAnswer {
  return {
    kind: "json",
    status,
    headers: requestIdentity(sequence),
    body: JSON.stringify({ detail: message }),
  };
}

/** An error as the whole body of an answer with status 200. */
export const VOYAGE_FAILURE: Pick<FailureGrammar, "body"> = {
  body: () => JSON.stringify({ detail: FAILURE_MESSAGE }),
};
