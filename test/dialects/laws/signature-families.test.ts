import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { InferenceRequest } from "../../../src/canon/request.ts";
import type { ModelRow } from "../../../src/canon/table.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import { decide } from "../../../src/decide/decide.ts";
import type { Target } from "../../../src/dialects/dialect.ts";
import { GENERATE_DIALECTS, type GenerateDialect } from "../../../src/dialects/table.ts";
import { planExchange, upstreamFor } from "../../../src/dialects/exchange-plan.ts";
import { formatSseEvent } from "../../../src/dialects/sse.ts";
import { contextOf } from "../../support/dialects.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  model,
  provider,
  route,
  table,
  workspace,
} from "../../support/table.ts";
import { NO_EDITS, NO_HEADERS } from "./target.ts";
import { CARRIERS, type Carrier } from "./signature-carriers.ts";

/**
 * Families as routes.yaml may name them, `null` where it names none; some are names that our own
 * marks use too.
 */
const FAMILIES = [
  "anthropic",
  "openai",
  "anthropic-bedrock",
  "xai",
  "summary",
  "unsigned",
  "sbx1",
  null,
] as const;
type Family = (typeof FAMILIES)[number];

/** A router of the same kind upstream has tagged what it relays. */
const SIGNATURES = ["EqQBCkYIBBgC", "sbx1.elsewhere.EqQBCkYIBBgC"] as const;

const capabilities = ["reasoning", "tools"] as const;

function modelRow(family: Family): ModelRow {
  return model(`m-${family}`, {
    capabilities,
    signatureFamily: family,
    defaultMaxOutputTokens: 4_096,
  });
}

/** An endpoint as the compiler makes it of the rows. */
function targetOf(dialect: string, family: Family): Target {
  const row = modelRow(family);
  const serving = provider("p", { dialect });
  if (!isKnown(dialect)) throw new Error("no dialect");
  const features = endpointFeatures(GENERATE_DIALECTS[dialect], row, serving);
  const id = `e-${family}`;
  const more = {
    dialect,
    model: row.id,
    capabilities,
    features: features.translated,
    nativeFeatures: features.native,
  };
  return { endpoint: endpoint(id, more), model: row, provider: serving };
}

function isKnown(dialect: string): dialect is GenerateDialect {
  return Object.hasOwn(GENERATE_DIALECTS, dialect);
}

function parse({ surface }: Carrier, body: JsonObject): InferenceRequest {
  const request = surface.parse(JSON.parse(JSON.stringify(body)), 10, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

const encoder = new TextEncoder();

/** What a client has of a provider's answer after a native relay. */
function relayed(
  carrier: Carrier,
  family: Family,
  signature: string,
  streamed: boolean,
): JsonObject {
  const target = targetOf(carrier.surface.dialect, family);
  const request = parse(carrier, { ...carrier.first, stream: streamed });
  const context = contextOf(request, family);
  const row = route("r", target.endpoint.id, []);
  const options = {
    surface: carrier.surface,
    request,
    prepared: null,
    route: row,
    edits: NO_EDITS,
    context,
  };
  const exchange = planExchange(options, target, upstreamOf(target.endpoint.dialect));
  if (!streamed) {
    const { ending, bytes } = exchange.answer(
      encoder.encode(JSON.stringify(carrier.answer(signature))),
    );
    expect(ending.failure).toBeNull();
    return JSON.parse(new TextDecoder().decode(bytes));
  }
  const stream = exchange.stream();
  const events = carrier
    .events(signature)
    .flatMap(([name, data]) => [
      ...stream.push(formatSseEvent(typeof data === "string" ? data : JSON.stringify(data), name)),
    ]);
  const { ending, events: last } = stream.endStream();
  expect(ending.failure).toBeNull();
  return carrier.joined(dataOf([...events, ...last]));
}

function upstreamOf(dialect: string) {
  if (!isKnown(dialect)) throw new Error("no dialect");
  return upstreamFor("generate", dialect);
}

function dataOf(events: readonly Uint8Array[]): readonly JsonObject[] {
  const lines = events.flatMap(
    (event) => /^data: (\{.*)$/m.exec(new TextDecoder().decode(event))?.[1] ?? [],
  );
  return lines.map((line) => JSON.parse(line));
}

/** Families of the endpoints that may get the request, in their order. */
function eligible(
  request: InferenceRequest,
  targets: readonly Target[],
): readonly (string | null)[] {
  const [first, ...rest] = targets.map((target) => target.endpoint.id);
  const rows = table({
    providers: [provider("p")],
    models: targets.map((target) => target.model),
    endpoints: targets.map((target) => target.endpoint),
    routes: [route("r", first ?? "", rest, { onGap: "narrow" })],
    workspaces: [workspace("w", { capabilities })],
  });
  const decision = decide(rows, fakePolicies(), identity, request, 0);
  if (decision.outcome === "deny") {
    expect(decision.denial?.reason ?? decision).toBe("SIGNATURE_FAMILY_MISMATCH");
    return [];
  }
  return decision.plan.map(
    (candidate) =>
      targets.find((target) => target.endpoint.id === candidate.endpoint.id)?.model
        .signatureFamily ?? null,
  );
}

describe.each(CARRIERS)("an answer of a native relay with $name", (carrier) => {
  describe.each([false, true])("streamed: %s", (streamed) => {
    it.each(FAMILIES)(
      "signed by %s is accepted by endpoints of that family and by no other",
      (family) => {
        const targets = FAMILIES.map((other) => targetOf(carrier.surface.dialect, other));
        for (const signature of SIGNATURES) {
          const answer = relayed(carrier, family, signature, streamed);
          const request = parse(carrier, carrier.next(answer));
          for (const target of targets) {
            const isOwn = target.model.signatureFamily === family;
            expect(eligible(request, [target])).toEqual(isOwn ? [family] : []);
            if (!isOwn)
              expect(
                eligible(request, [target, targetOf(carrier.surface.dialect, family)]),
              ).toEqual([family]);
          }
          // The provider gets what it had signed.
          const target = targetOf(carrier.surface.dialect, family);
          const { body } = carrier.surface.relay.edit(
            request,
            target.endpoint,
            target.provider,
            "reject",
            NO_EDITS,
          );
          expect(JSON.stringify(body)).toContain(`"${signature}"`);
        }
      },
    );
  });

  it("with signatures of the protocol's own family is relayed byte for byte", () => {
    const native = { "anthropic-messages": "anthropic", "openai-responses": "openai" } as const;
    const family =
      carrier.surface.dialect in native
        ? contextOf(parse(carrier, carrier.first)).signatureFamily
        : null;
    const [signature] = SIGNATURES;
    const request = parse(carrier, carrier.first);
    const stream = carrier.surface.relay.observe(contextOf(request, family));
    for (const [name, data] of carrier.events(signature)) {
      const event = formatSseEvent(typeof data === "string" ? data : JSON.stringify(data), name);
      const isLifecycle = name === "response.created" || name === "response.completed";
      // Resources of these are filled, which has nothing to do with signatures.
      if (isLifecycle) stream.push(event);
      else expect(stream.push(event)).toEqual([event]);
    }
  });
});
