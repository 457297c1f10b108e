import type { DestinationReport } from "../../../../simulate/report/cause-report.ts";
import { listText } from "../../../terminal/amounts.ts";

const KEPT: Readonly<Record<DestinationReport["retention"], string>> = {
  none: "nothing kept",
  transient: "kept for a short time",
  days_30: "kept 30 days",
  unlimited: "kept without limit",
};

/** "openai-us in us, kept 30 days, trains on data": who processes a request, where, and what becomes of it. */
export function processorText({ provider, region, retention, trains_on_data: trains }: DestinationReport): string {
  return `${provider} in ${region}, ${KEPT[retention]}${trains ? ", trains on data" : ""}`;
}

/** "gpt-5-us: openai-us in us, kept 30 days". */
export function destinationText(destination: DestinationReport): string {
  return `${destination.endpoint}: ${processorText(destination)}`;
}

/** "1.25/10": US dollars of a million tokens, input and output; with the price of a call where there is one. */
export function priceText({ input, output, request }: NonNullable<DestinationReport["price"]>): string {
  return `${input}/${output}${request === 0 ? "" : `+${request}`}`;
}

/** The name of a route; moderation requests may name none. */
export function routesText(routes: readonly string[]): string {
  return listText(
    routes.map((name) => (name === "" ? "(no model)" : name)),
    3,
  );
}
