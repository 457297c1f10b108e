import type { JsonObject } from "../../../src/canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../src/canon/request.ts";
import type { ModelRow, ProviderRow, RouteRow } from "../../../src/canon/table.ts";
import { dialect } from "../../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface, Target } from "../../../src/dialects/dialect.ts";
import { type ExchangePlan, planExchange } from "../../../src/dialects/exchange-plan.ts";
import { route } from "../../support/table.ts";
import { NO_EDITS, NO_HEADERS, contextOf, read, targetWith } from "./target.ts";
import {
  type PreparedTranslation,
  prepareTranslation,
} from "../../../src/dialects/translate-request.ts";

const { generate: messagesUpstream } = dialect;

export interface Journey {
  readonly upstreamModel?: string;
  readonly headers?: ProtocolHeaders;
  readonly model?: Partial<ModelRow>;
  readonly provider?: Partial<ProviderRow>;
  readonly unknownFields?: RouteRow["unknownFields"];
}

function targetOf(flag: string, { upstreamModel = "model", model, provider }: Journey): Target {
  const target = targetWith(model, { flags: [flag], ...provider });
  return { ...target, endpoint: { ...target.endpoint, upstreamModel } };
}

/** The way of a body to a provider with the flag, through whatever surface. */
export function exchangeTo(
  flag: string,
  surface: Surface,
  body: JsonObject,
  journey: Journey = {},
): ExchangePlan {
  const { headers = NO_HEADERS, unknownFields = "reject" } = journey;
  const request = read(body, headers, surface);
  const target = targetOf(flag, journey);
  const row = route("r", "a", [], { unknownFields });
  const isRelayed = surface.dialect === target.endpoint.dialect;
  const prepared = isRelayed ? null : prepare(surface, request, row, target);
  const options = {
    surface,
    request,
    prepared,
    route: row,
    edits: NO_EDITS,
    context: contextOf(request),
  };
  return planExchange(options, target, messagesUpstream);
}

function prepare(
  surface: Surface,
  request: InferenceRequest,
  row: RouteRow,
  target: Target,
): PreparedTranslation {
  const canonical = surface.translation.toCanon(request, row.unknownFields, NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.message);
  const prepared = prepareTranslation(canonical, row, request.shape, target, messagesUpstream);
  if ("code" in prepared) throw new Error(prepared.message);
  return prepared;
}

/** What is sent, with the body read again. */
export function sentBy({ path, headers, body, stripped }: ExchangePlan): {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: JsonObject;
  readonly stripped: readonly string[];
} {
  return { path, headers, body: JSON.parse(body()), stripped };
}
