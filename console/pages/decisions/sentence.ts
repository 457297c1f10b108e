import type { Decision } from "../../api/types.ts";
import { counted, humanise, milliseconds } from "../../format/amounts.ts";

/** The result of a request, in a sentence. @param waited for `retry-after`, milliseconds. */
export function sentenceOf(decision: Decision, waited: number): string {
  const { outcome, terminal, reason, calls, endpoint, finish } = decision;
  const failed = calls.filter(({ failure }) => failure !== null);
  const failures = [
    ...new Set(failed.map((call) => `${call.endpoint}: ${humanise(call.failure ?? "")}`)),
  ].join("; ");
  if (outcome === "deny" || outcome === "refuse") {
    const why = humanise(reason ?? "no reason is on record");
    return `${outcome === "deny" ? "Denied" : "Refused"} before any provider was called: ${why}.`;
  }
  if (outcome === "answer") return "The router answered by itself; no provider was called.";
  switch (terminal) {
    case null:
      return "The request is still running.";
    case "failed":
      return failed.length === 0
        ? "The request failed before a provider was called."
        : `Failed: ${counted(failed.length, "call")} failed and no candidate was left (${failures}).`;
    case "client_closed":
      return "The client closed the connection before the answer was complete.";
    case "unknown":
      return "The process ended while the request ran; how the request ended is not known.";
    case "incomplete":
      return `${endpoint ?? "The endpoint"} answered in part${finish === null ? "" : `: ${humanise(finish)}`}.`;
    case "completed":
      return failed.length === 0
        ? `${endpoint ?? "An endpoint"} answered.`
        : `${endpoint ?? "An endpoint"} answered after ${counted(failed.length, "failed call")} (${failures})${waited === 0 ? "" : ` and ${milliseconds(waited)} of waiting for retry-after`}.`;
    default:
      return humanise(terminal);
  }
}
