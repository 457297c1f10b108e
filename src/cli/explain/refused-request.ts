import type { ServiceError } from "../../canon/error.ts";
import { CommandError } from "../terminal/command-io.ts";

/** The error of a request that is refused before a decision. */
export function refusedRequest({
  status,
  code,
  message,
}: Pick<ServiceError, "status" | "code" | "message">): CommandError {
  return new CommandError(`--request: refused before any decision, with ${status} ${code}: ${message}`);
}
