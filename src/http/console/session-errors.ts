import { serviceError, type ServiceError } from "../../canon/error.ts";
import { codedError } from "../../canon/errors/coded-error.ts";
import { StoreUnavailableError } from "../../canon/errors/store-unavailable.ts";

export function sessionEnded(): ServiceError {
  return serviceError(401, "authentication", "session_ended", "The session has ended; sign in again.");
}

export function csrfFailed(): ServiceError {
  return serviceError(
    403,
    "insufficient_scope",
    "csrf_failed",
    "The request does not come from a page of this console, or lacks the header x-signalbox-csrf of its session.",
  );
}

/** The result, or a 503 where the store was unavailable. */
export async function orStoreError<Result>(work: () => Promise<Result>): Promise<Result | ServiceError> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return codedError("store_unavailable", "Sessions cannot be read or written now. Try again later.");
  }
}
