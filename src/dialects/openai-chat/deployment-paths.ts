import type { HostedRequest, OutgoingRequest, Target, Upstream } from "../dialect.ts";

/**
 * Azure's addresses around the protocol's own: the deployment before the path, where the provider's flag says so, and the version of the
 * interface in the query, where its row has one. Framing, members and errors are the protocol's.
 *
 * @returns `null` where the provider needs neither.
 */
export function deploymentHost(readError: Upstream["readError"]): NonNullable<Upstream["host"]> {
  return (request: OutgoingRequest, { endpoint, provider }: Target): HostedRequest | null => {
    const deployed = provider.flags.includes("deployment_paths");
    if (!deployed && provider.apiVersion === null) return null;
    const prefix = deployed ? `/deployments/${encodeURIComponent(endpoint.upstreamModel)}` : "";
    const query = provider.apiVersion === null ? "" : `?api-version=${encodeURIComponent(provider.apiVersion)}`;
    return {
      ...request,
      path: `${prefix}${request.path}${query}`,
      stripped: [],
      streamType: "text/event-stream",
      unwrapStream: (stream) => stream,
      unwrapAnswer: (bytes) => bytes,
      readError,
    };
  };
}
