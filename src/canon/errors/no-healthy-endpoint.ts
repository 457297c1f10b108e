import type { ServiceError } from "../error.ts";
import { codedError } from "./coded-error.ts";

/** The answer to an allowed request without a usable endpoint: 503, because it may pass, and no denial. */
export function noHealthyEndpoint(): ServiceError {
  return codedError("no_healthy_endpoint", "The request is allowed, but no endpoint that may serve it is usable now.");
}
