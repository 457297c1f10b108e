import { openaiChat, openaiModels } from "./openai-chat/protocol.ts";
import type { Protocol } from "./protocol.ts";

export interface MockEndpoint {
  readonly method: "GET" | "POST";
  /** End of the path: base addresses of providers carry prefixes of all kinds. */
  readonly path: string;
  readonly protocol: Protocol;
}

/** Everything that the simulated provider serves, besides `/mock/requests`. */
export const MOCK_ENDPOINTS: readonly MockEndpoint[] = [
  { method: "POST", path: "/chat/completions", protocol: openaiChat },
  { method: "GET", path: "/models", protocol: openaiModels },
];
