import type { Scope } from "../../canon/identity.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { ANTHROPIC_FAMILY } from "../../dialects/anthropic-messages/render.ts";
import type { EventStream } from "../../dialects/contract-schemas.ts";
import type { ProtocolFamily } from "../../dialects/protocol-family.ts";
import type { Surface } from "../../dialects/dialect.ts";
import { OPENAI_FAMILY } from "../../dialects/openai-chat/family.ts";
import type { UnarySurface } from "../../dialects/unary/surface.ts";

/** Sections of the contract. */
export const TAGS = {
  Generation: "Text, tool calls and reasoning, in four protocols; whole answers and streams.",
  "Retrieval and moderation":
    "Vectors, relevance and harmfulness: one JSON request, one JSON answer.",
  Models: "The routes that a key's workspace may use.",
  Routing: "The decision for a request, without a call of a provider.",
  "Service keys": "Keys of the caller's workspace, and tokens that they are exchanged for.",
  Policies: "The state of policies, and how a change is enforced.",
  Governance: "Operational evidence, without content.",
  Service: "The deployed version and its health.",
} as const;

export interface EndpointFacts {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path in the form that h3 and OpenAPI share: `{name}` for a parameter. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly tag: keyof typeof TAGS;
  readonly listener: "public" | "admin";
  /** Scopes of which a key must have one; none where no key is required. */
  readonly scopes: readonly Scope[];
  /**
   * JSON Schema of the request body; `null` where there is none. It validates, and it stands in
   * /openapi.json.
   */
  readonly body: JsonObject | null;
  /** A request without a body counts as one with `{}`. */
  readonly isBodyOptional?: true;
  /** The body may be a form of texts, as OAuth has it. */
  readonly acceptsForm?: true;
  /**
   * A body that names a member twice is rejected: a grant must not depend on which of the two a
   * parser takes.
   */
  readonly uniqueMembers?: true;
  /** Required query parameters by name. */
  readonly query: Readonly<Record<string, JsonObject>>;
  /** Query parameters that may be left out, by name. Default: none. */
  readonly optionalQuery?: Readonly<Record<string, JsonObject>>;
  /** JSON Schema of the 200 body. */
  readonly answer: JsonObject;
  /**
   * `If-Match` names the state that the caller has read: 428 without it, 412 where the state has
   * changed. `sometimes`: depends on the body.
   */
  readonly ifMatch?: "always" | "sometimes";
  /** The request can conflict with the present state: 409. */
  readonly conflicts?: true;
  /** The 200 answer has an `ETag`. */
  readonly hasEntityTag?: true;
  /** Media type of the 200 body; default: JSON. */
  readonly answerType?: string;
  /** Another media type of it, for callers whose `Accept` names that. */
  readonly otherAnswerType?: string;
  /** Schema of a stream's events; absent: the endpoint does not stream. */
  readonly stream?: EventStream;
  /** No cache may store the 200 answer: `cache-control: no-store`. */
  readonly isNeverStored?: true;
}

/** An endpoint whose requests go to a model provider. */
export interface InferenceEndpoint extends EndpointFacts {
  readonly kind: "inference";
  readonly operation: Operation;
  readonly surface: Surface | UnarySurface;
}

/**
 * An endpoint that the router itself answers; `http/control/handlers.ts` has its handler by the
 * id.
 */
export interface ControlEndpoint extends EndpointFacts {
  readonly kind: "control";
}

/** The protocol family whose errors and limit headers a path has. */
export function familyOf(path: string): ProtocolFamily {
  return path.startsWith("/api/") ? ANTHROPIC_FAMILY : OPENAI_FAMILY;
}

/**
 * Whether errors have the shape of OAuth's token endpoint there. @param path with or without a
 * query; also a whole URL (RFC 9112 §3.2.2).
 */
export function isTokenEndpoint(path: string): boolean {
  return TOKEN_ENDPOINT.test(path);
}

const TOKEN_ENDPOINT = /^(?:https?:\/\/[^/?#]*)?\/v1\/credentials\/exchange(?:[?#]|$)/;

/**
 * Whether exchanged tokens, and with them web pages, can call it: models and inference. Managing
 * keys and exchanging them is not for pages.
 */
export function acceptsTokens({ listener, scopes, id }: EndpointFacts): boolean {
  const [scope] = scopes;
  return (
    listener === "public" &&
    (scope === "inference" || scope === "catalogue:read") &&
    id !== "exchangeKey"
  );
}

export type Endpoint = InferenceEndpoint | ControlEndpoint;
