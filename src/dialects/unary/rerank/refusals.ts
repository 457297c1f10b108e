import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { RerankRequest } from "../../../canon/unary/rerank.ts";
import { refuseExtras } from "../extras.ts";

/** The 400 for what only the surface's own protocol can be told; `null` where a request says nothing of the kind. */
export function foreignRefusal(request: RerankRequest): ServiceError | null {
  return refuseExtras(request.extras) ?? documentLimitRefusal(request);
}

/** The decision keeps such requests away; one that gets here all the same must not lose what it says. */
export function documentLimitRefusal({ maxTokensPerDocument }: RerankRequest): ServiceError | null {
  if (maxTokensPerDocument === null) return null;
  const message = "max_tokens_per_doc cannot be said to an endpoint that may get the request";
  return invalidRequest("feature_not_supported", message, "max_tokens_per_doc");
}

/** Who is handled first may be left to a provider that cannot be told: the answer is the same. */
export function droppedPriority({ priority }: RerankRequest): readonly DroppedField[] {
  return priority === null ? [] : ["hint_dropped"];
}
