import { observers, type RequestObserver } from "../../../evidence/observer.ts";
import { ServerLog, type LogOptions } from "./server-log.ts";
import { ServerMetrics } from "./server-metrics.ts";
import type { StandingSources } from "./standing-metrics.ts";

/** Metrics and logs of one server, made from what its evidence says. */
export class ServerTelemetry {
  readonly metrics = new ServerMetrics();
  readonly log: ServerLog;
  readonly observer: RequestObserver;

  private constructor(log: ServerLog) {
    this.log = log;
    this.observer = observers([this.metrics.requests, log.observer]);
  }

  static async open(log: LogOptions): Promise<ServerTelemetry> {
    return new ServerTelemetry(await ServerLog.open(log));
  }

  /** When what is told of can be asked. Gives the end of all watching. */
  begin(sources: Omit<StandingSources, "droppedLines">): () => Promise<void> {
    const stopMetrics = this.metrics.begin({ ...sources, droppedLines: this.log.dropped });
    const stopLooking = this.log.watchStore(() => sources.evidence.health());
    return () => {
      stopMetrics();
      stopLooking();
      return Promise.resolve();
    };
  }

  readonly close = (): Promise<void> => this.log.close();
}
