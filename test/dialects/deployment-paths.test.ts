import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import type { ProviderRow } from "../../src/canon/table.ts";
import type { Surface, Target } from "../../src/dialects/dialect.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { completionsSurface } from "../../src/dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { type ExchangePlan, planExchange, upstreamFor } from "../../src/dialects/exchange-plan.ts";
import { route } from "../support/table.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "./laws/target.ts";
import { prepareTranslation } from "../../src/dialects/translate-request.ts";

const ROUTE = route("r", "e", []);
const CHAT: JsonObject = { model: "r", messages: [{ role: "user", content: "hi" }] };
const COMPLETION: JsonObject = { model: "r", prompt: "hi" };
const RESPONSE: JsonObject = { model: "r", input: "hi" };

function targetWith(dialect: GenerateDialect, more: Partial<ProviderRow>): Target {
  const target = targetOf(dialect);
  const endpoint = { ...target.endpoint, upstreamModel: "my dep/1" };
  return { ...target, endpoint, provider: { ...target.provider, ...more } };
}

function exchange(
  surface: Surface,
  body: JsonObject,
  dialect: GenerateDialect,
  more: Partial<ProviderRow>,
): ExchangePlan {
  const request = surface.parse(body, 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  const target = targetWith(dialect, more);
  const upstream = upstreamFor("generate", dialect);
  const canonical =
    surface.dialect === dialect ? null : surface.translation.toCanon(request, "reject", NO_EDITS);
  if (canonical !== null && "code" in canonical) throw new Error(canonical.message);
  const prepared =
    canonical === null
      ? null
      : prepareTranslation(canonical, ROUTE, request.shape, target, upstream);
  if (prepared !== null && "code" in prepared) throw new Error(prepared.message);
  const options = {
    surface,
    request,
    prepared,
    route: ROUTE,
    edits: NO_EDITS,
    context: contextOf(request),
  };
  return planExchange(options, target, upstream);
}

const DEPLOYED = { flags: ["deployment_paths"], apiVersion: "2024-10-21" };
const VERSIONED = { apiVersion: "2024-05-01-preview" };

describe("Azure's addresses", () => {
  it.each<[string, Surface, JsonObject, GenerateDialect, Partial<ProviderRow>, string]>([
    [
      "chat, relayed",
      chatSurface,
      CHAT,
      "openai-chat",
      DEPLOYED,
      "/deployments/my%20dep%2F1/chat/completions?api-version=2024-10-21",
    ],
    [
      "chat, translated",
      responsesSurface,
      RESPONSE,
      "openai-chat",
      DEPLOYED,
      "/deployments/my%20dep%2F1/chat/completions?api-version=2024-10-21",
    ],
    [
      "chat, no deployments",
      chatSurface,
      CHAT,
      "openai-chat",
      VERSIONED,
      "/chat/completions?api-version=2024-05-01-preview",
    ],
    ["chat, neither", chatSurface, CHAT, "openai-chat", {}, "/chat/completions"],
    [
      "completions, relayed",
      completionsSurface,
      COMPLETION,
      "openai-completions",
      DEPLOYED,
      "/deployments/my%20dep%2F1/completions?api-version=2024-10-21",
    ],
    [
      "completions, translated",
      chatSurface,
      CHAT,
      "openai-completions",
      DEPLOYED,
      "/deployments/my%20dep%2F1/completions?api-version=2024-10-21",
    ],
    [
      "responses, relayed",
      responsesSurface,
      RESPONSE,
      "openai-responses",
      VERSIONED,
      "/responses?api-version=2024-05-01-preview",
    ],
    [
      "responses, translated",
      chatSurface,
      CHAT,
      "openai-responses",
      VERSIONED,
      "/responses?api-version=2024-05-01-preview",
    ],
  ])("%s", (_name, surface, body, dialect, more, path) => {
    expect(exchange(surface, body, dialect, more).path).toBe(path);
  });

  it("change only the path", () => {
    const {
      path: _,
      body,
      stream: __,
      answer: ___,
      streamOfAnswer: ____,
      readError,
      ...plain
    } = exchange(chatSurface, CHAT, "openai-chat", {});
    const deployed = exchange(chatSurface, CHAT, "openai-chat", DEPLOYED);
    expect(deployed).toMatchObject(plain);
    expect(deployed.body()).toBe(body());
    const blocked = new TextEncoder().encode('{"error":{"code":"content_filter","message":"m"}}');
    expect(deployed.readError(400, blocked)).toEqual(readError(400, blocked));
    const stream = deployed.stream();
    const event = new TextEncoder().encode(
      'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
    );
    expect(stream.push(event)).toEqual([event]);
    expect(stream.endStream().ending).toMatchObject({ failure: null, finish: "stop" });
  });

  it("record the changes of the provider's flags on a relay", () => {
    const body = { ...CHAT, messages: [{ role: "developer", content: "d" }], service_tier: "flex" };
    const { dropped, stripped } = exchange(chatSurface, body, "openai-chat", {
      flags: ["no_developer_role", "no_service_tier"],
    });
    expect(dropped).toEqual(["developer_as_system", "service_tier_changed"]);
    expect(stripped).toEqual(["service_tier"]);
  });
});
