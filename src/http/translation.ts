import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import type { CanonicalRequest, Surface } from "../dialects/dialect.ts";

/** A decision whose every candidate can be told the request, and the request in canon where one of them speaks another dialect. */
export interface TranslatableDecision {
  readonly decision: RouteDecision;
  readonly canonical: CanonicalRequest | null;
}

/**
 * Brings the request into canon where a candidate needs it, before anything is recorded or sent: whether a request can be served must not depend
 * on which provider happens to be up. What canon refuses denies the request, or leaves translated fallbacks out where the route says
 * `on_gap: narrow`, as for any other gap (decisions.md, rule 1). Simulation asks the same function.
 */
export function prepareTranslation(
  surface: Surface,
  request: InferenceRequest,
  route: RouteRow,
  decision: RouteDecision,
): TranslatableDecision | ServiceError {
  const isNative = ({ endpoint }: Candidate): boolean => endpoint.dialect === surface.dialect;
  if (decision.plan.every(isNative)) return { decision, canonical: null };
  const canonical = surface.translation.toCanon(request, route.unknownFields, decision.edits);
  if (!("code" in canonical)) return { decision, canonical };
  const [first, ...rest] = decision.plan.filter(isNative);
  const foreign = decision.plan.filter((candidate) => !isNative(candidate));
  const mayNarrow = route.onGap === "narrow" && foreign.every(({ rank }) => rank === "fallback");
  if (first === undefined || !mayNarrow) return canonical;
  const entry = {
    policy: "approvals",
    revision: decision.tableRevision,
    slot: "enforced",
    constraint: "request_translatable",
    verdict: "fail",
    reason: canonical.code,
    failing: foreign.map(({ endpoint }) => endpoint.id),
    effect: "narrowed",
  } as const;
  return { decision: { ...decision, plan: [first, ...rest], trace: [...decision.trace, entry] }, canonical: null };
}
