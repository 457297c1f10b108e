import { endedAt, namesOf } from "../evidence/record.ts";
import type { EndedRequest, RequestObserver } from "../evidence/observer.ts";
import type { AttemptLine, Log, LogLevel, RequestLine } from "./log-record.ts";

/** A line for every request that has evidence. */
export function requestLog(log: Log): RequestObserver {
  return {
    began: () => {},
    ended: (_, request) => {
      if (request === null) return;
      const line = requestLine(request);
      log.write(levelOf(line), line);
      for (const { endpoint, provider, flag } of request.outcome.attempts) {
        if (flag === undefined) continue;
        log.write("warn", {
          event: "flag_missing",
          request_id: line.request_id,
          endpoint,
          provider,
          flag,
        });
      }
      if (log.takes("debug"))
        for (const attempt of attemptLines(request)) log.write("debug", attempt);
    },
  };
}

/** Failures of the router and of providers are warnings; denials and clients' mistakes are not. */
function levelOf({ terminal, status }: RequestLine): LogLevel {
  return terminal === "failed" || status >= 500 ? "warn" : "info";
}

export function requestLine({ decision, outcome, traceId }: EndedRequest): RequestLine {
  const ended = endedAt(outcome);
  return {
    event: "request",
    request_id: decision.requestId,
    trace_id: traceId,
    operation: decision.operation,
    route: decision.route,
    workspace: decision.workspace,
    key_id: decision.keyId,
    outcome: decision.outcome,
    reason: decision.reason,
    policy: decision.policy,
    constraint: decision.constraint,
    terminal: outcome.terminal,
    status: outcome.status,
    stream: decision.stream,
    endpoint: namesOf(ended, "endpoint"),
    provider: namesOf(ended, "provider"),
    region: namesOf(ended, "region"),
    attempts: outcome.attempts.reduce((sum, { calls = 1 }) => sum + calls, 0),
    input_tokens: outcome.inputTokens,
    output_tokens: outcome.outputTokens,
    total_ms: outcome.total,
    router_ms: outcome.router,
    first_byte_ms: outcome.firstByte,
  };
}

function attemptLines({ decision, outcome }: EndedRequest): readonly AttemptLine[] {
  return outcome.attempts.map(
    ({ endpoint, provider, region, failure, status, duration, calls = 1 }) => ({
      event: "attempt",
      request_id: decision.requestId,
      endpoint,
      provider,
      region,
      failure,
      status,
      duration_ms: duration,
      calls,
    }),
  );
}
