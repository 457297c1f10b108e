import type { ServiceError } from "../error.ts";
import { codedError } from "./coded-error.ts";

/** The answer to a request that is allowed and has nowhere to go now (decisions.md: 503, never a denial). */
export function noHealthyEndpoint(): ServiceError {
  return codedError("no_healthy_endpoint", "The request is allowed, but no endpoint that may serve it is usable now.");
}
