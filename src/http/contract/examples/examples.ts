import { CONTROL_EXAMPLES } from "./control-examples.ts";
import type { EndpointExample } from "./example.ts";
import { INFERENCE_ENDPOINTS } from "../inference-endpoints.ts";
import RECORDED from "./recorded-answers.json" with { type: "json" };

const INFERENCE_EXAMPLES: Readonly<Record<string, EndpointExample>> = Object.fromEntries(
  INFERENCE_ENDPOINTS.map(({ id, surface }) => [id, { requests: surface.contract.examples }]),
);

const REQUESTS: Readonly<Record<string, EndpointExample>> = { ...INFERENCE_EXAMPLES, ...CONTROL_EXAMPLES };

/** What a server answered, with ids and times of no request and long lists cut; `npm run generate` writes it. */
const ANSWERS: Readonly<Record<string, Pick<EndpointExample, "answer" | "stream">>> = RECORDED;

/** By the id of the endpoint. */
export const EXAMPLES: Readonly<Record<string, EndpointExample>> = Object.fromEntries(
  [...new Set([...Object.keys(REQUESTS), ...Object.keys(ANSWERS)])].map((id) => [
    id,
    { ...REQUESTS[id], ...ANSWERS[id] },
  ]),
);
