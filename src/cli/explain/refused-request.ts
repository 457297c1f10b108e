import type { ServiceError } from "../../canon/error.ts";
import { CommandError } from "../terminal/command-io.ts";

/** A request that never gets as far as a decision: what its sender would be told. */
export function refusedRequest({
  status,
  code,
  message,
}: Pick<ServiceError, "status" | "code" | "message">): CommandError {
  return new CommandError(`--request: refused before any decision, with ${status} ${code}: ${message}`);
}
