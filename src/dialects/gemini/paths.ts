/** The methods of a model that this router calls. A stream is a method of its own. */
type Method = "generateContent" | "streamGenerateContent" | "countTokens";

/**
 * The resource name of a model below the provider's base URL. A plain name is one of `models/`; one with a slash is a resource name already,
 * such as `tunedModels/x`, or `endpoints/7` where the base URL ends before `publishers`.
 */
export function resourceName(upstreamModel: string): string {
  return upstreamModel.includes("/") ? upstreamModel : `models/${upstreamModel}`;
}

export function methodPath(upstreamModel: string, method: Method): string {
  const name = resourceName(upstreamModel).split("/").map(encodeURIComponent).join("/");
  // Without the option a stream is one JSON array, whose end only its last byte shows.
  return `/${name}:${method}${method === "streamGenerateContent" ? "?alt=sse" : ""}`;
}
