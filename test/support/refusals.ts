import type { ServiceError } from "../../src/canon/error.ts";
import { RefusalError } from "../../src/http/refusal.ts";

/** The error with which `work` refuses, or its value. */
export function refusedOr<Value>(work: () => Value): Value | ServiceError {
  try {
    return work();
  } catch (error) {
    return answerOf(error);
  }
}

/** The error with which a promise is refused, or its value. */
export function refusedOrResolved<Value>(work: Promise<Value>): Promise<Value | ServiceError> {
  return work.catch(answerOf);
}

function answerOf(error: unknown): ServiceError {
  if (error instanceof RefusalError && error.answer !== null) return error.answer;
  throw error;
}
