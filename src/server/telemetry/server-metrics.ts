import { formatExposition, type Exposition } from "../../telemetry/metrics/exposition.ts";
import type { Family } from "../../telemetry/metrics/families.ts";
import { processMetrics } from "../../telemetry/metrics/process-metrics.ts";
import { RequestMetrics } from "../../telemetry/metrics/request-metrics.ts";
import { standingMetrics, type StandingSources } from "./standing-metrics.ts";

/** All that one server tells at `GET /metrics`. */
export class ServerMetrics {
  readonly requests = new RequestMetrics();
  #families: readonly Family[] = this.requests.families;

  get families(): readonly Family[] {
    return this.#families;
  }

  /** @param accept the request's header of that name. */
  readonly page = (accept: string | undefined): Exposition => formatExposition(this.#families, accept);

  /** Adds what can be told only of a server that stands. Gives the end of the measuring. */
  begin(sources: StandingSources): () => void {
    const { families, stop } = processMetrics();
    this.#families = [...this.requests.families, ...standingMetrics(sources), ...families];
    return stop;
  }
}
