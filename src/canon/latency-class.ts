/** What an endpoint's answers are made for, as routes.yaml declares it. */
export const LATENCY_CLASSES = ["interactive", "standard", "batch"] as const;
export type LatencyClass = (typeof LATENCY_CLASSES)[number];
