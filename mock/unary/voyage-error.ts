import type { JsonAnswer, FailureGrammar } from "../answer.ts";
import type { Wording } from "../member-table.ts";
import { FAILURE_MESSAGE, requestIdentity } from "../openai/error.ts";
import { invalid, type Problem } from "../problem.ts";

/** An error in Voyage's shape: one sentence, and nothing that a machine could read. */
export function refuseVoyage({ status, message }: Problem, sequence: number): JsonAnswer {
  return {
    kind: "json",
    status,
    headers: requestIdentity(sequence),
    body: JSON.stringify({ detail: message }),
  };
}

/** How Voyage speaks of members. */
export const VOYAGE_WORDING: Wording = {
  missing: (name) => invalid(name, `Argument '${name}' is required.`),
  unknown: (name) => invalid(name, `Argument '${name}' is not supported by our API.`),
  wrong: (name, description) =>
    invalid(name, `Value supplied for argument '${name}' is not valid: must be ${description}.`),
  takesNull: true,
};

/** An error as the whole body of an answer with status 200. */
export const VOYAGE_FAILURE: Pick<FailureGrammar, "body"> = {
  body: () => JSON.stringify({ detail: FAILURE_MESSAGE }),
};
