import { POLICY_SET } from "./answer-schemas.ts";

const text = { type: "string" } as const;
const digest = { type: "string", pattern: "^[0-9a-f]{64}$" } as const;

export const LIVENESS = {
  title: "Liveness",
  type: "object",
  required: ["status"],
  properties: { status: { const: "live" } },
} as const;

export const READINESS = {
  title: "Readiness",
  type: "object",
  required: ["status"],
  properties: { status: { const: "ready" } },
} as const;

export const OPENAPI_DOCUMENT = {
  title: "OpenApiDocument",
  type: "object",
  description: "An OpenAPI 3.1 document.",
  required: ["openapi", "info", "paths", "components"],
  properties: {
    openapi: { type: "string", pattern: "^3\\.1\\.[0-9]+$" },
    info: { type: "object", required: ["title", "version"] },
    paths: { type: "object" },
    components: { type: "object" },
  },
} as const;

export const STATUS = {
  title: "Status",
  type: "object",
  required: [
    "build_id",
    "contract_sha256",
    "table_sha256",
    "policy_set",
    "policy_revisions",
    "uptime_seconds",
    "degraded",
    "evidence",
  ],
  properties: {
    build_id: {
      ...text,
      description:
        "Names the program that answers: equal where its files are, unless the operator names builds himself.",
    },
    contract_sha256: {
      ...digest,
      description:
        "SHA-256 of the canonical form (RFC 8785) of what /openapi.json answers: equal where the contract is, whichever build it is.",
    },
    table_sha256: { ...digest, description: "Of the routing table that decides." },
    policy_set: POLICY_SET,
    policy_revisions: { type: "object" },
    uptime_seconds: { type: "number", minimum: 0 },
    degraded: {
      type: "array",
      items: text,
      description:
        "`reload_failed`, `evidence`, `evidence_retention`, `limits`, `policies`, `workers`; empty when all is well.",
    },
    workers: {
      type: "object",
      description: "Where several processes serve (`--workers`): which one answers, and how many there are.",
      required: ["worker", "configured", "ready"],
      properties: {
        worker: { type: "integer", minimum: 1, description: "The one that answers." },
        configured: { type: "integer", minimum: 1, description: "How many there are to be." },
        ready: { type: "integer", minimum: 0, description: "How many take requests." },
      },
    },
    evidence: {
      type: "object",
      description: "The store of decisions and outcomes, as this process sees it.",
      required: ["state", "waiting", "refused", "lost", "head"],
      properties: {
        state: { enum: ["ok", "unavailable"], description: "`unavailable`: requests may be refused with 503." },
        waiting: { type: "integer", minimum: 0, description: "Decisions that wait for the disk." },
        refused: { type: "integer", minimum: 0, description: "Decisions not confirmed in time, since the start." },
        lost: { type: "integer", minimum: 0, description: "Outcomes that could not be kept, since the start." },
        head: {
          type: ["object", "null"],
          description: "The newest row of the evidence log: note it elsewhere, and verify against it later.",
          required: ["position", "hash"],
          properties: {
            position: { type: "integer", minimum: 0 },
            hash: { type: "string", pattern: "^[0-9a-f]{64}$" },
          },
        },
      },
    },
    endpoints: {
      type: "object",
      description: "Endpoints that are out or on trial for their health, as this process sees them.",
    },
  },
} as const;
