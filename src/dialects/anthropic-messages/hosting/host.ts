import type { HostedRequest, OutgoingRequest, Target } from "../../dialect.ts";
import { hostOnBedrock } from "./bedrock-invoke.ts";
import { hostOnVertex } from "./vertex-raw-predict.ts";

/** The wrappings that providers may ask for by a flag; the compiler lets a provider have one of them at most. */
const HOSTS: ReadonlyMap<string, (request: OutgoingRequest, upstreamModel: string) => HostedRequest> = new Map([
  ["bedrock_invoke", hostOnBedrock],
  ["vertex_raw_predict", hostOnVertex],
]);

/** Wraps a finished messages or count_tokens request for the cloud that serves the provider's models; `null` where none does. */
export function hostMessages(request: OutgoingRequest, { endpoint, provider }: Target): HostedRequest | null {
  for (const flag of provider.flags) {
    const host = HOSTS.get(flag);
    if (host !== undefined) return host(request, endpoint.upstreamModel);
  }
  return null;
}
