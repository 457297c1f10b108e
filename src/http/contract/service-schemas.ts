import {
  AMOUNT,
  BOOLEAN,
  complete,
  COUNT,
  described,
  INSTANT,
  listOf,
  NULLABLE_AMOUNT,
  TEXT,
  type ValueOf,
  whole,
  titled,
} from "../../canon/json/schema.ts";
import { EVIDENCE_FAULT_CAUSES } from "../../evidence/evidence-store.ts";
import { FAILURE_KINDS } from "../../canon/failure.ts";
import { CALL_KINDS } from "../../canon/operation.ts";
import { HEALTH_STATES } from "../../dispatch/health.ts";
import { POLICY_REVISIONS, POLICY_SET } from "./answer-schemas.ts";

const digest = { type: "string", pattern: "^[0-9a-f]{64}$" } as const;

export const LIVE = titled("Liveness", complete({ status: { const: "live" } }));

export const READINESS = titled("Readiness", complete({ status: { const: "ready" } }));

export const OPENAPI_DOCUMENT = titled(
  "OpenApiDocument",
  complete(
    {
      openapi: { type: "string", pattern: "^3\\.1\\.[0-9]+$" },
      info: { type: "object", required: ["title", "version"] },
      paths: { type: "object" },
      components: { type: "object" },
    },
    "An OpenAPI 3.1 document.",
  ),
);

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
    build_id: described(
      TEXT,
      "Identifies the program that answers: equal for equal program files, unless the operator sets it.",
    ),
    contract_sha256: described(
      digest,
      "SHA-256 of the canonical form (RFC 8785) of /openapi.json: equal for equal contracts, whatever the build.",
    ),
    table_sha256: described(digest, "Of the routing table that decides."),
    policy_set: POLICY_SET,
    policy_revisions: POLICY_REVISIONS,
    uptime_seconds: AMOUNT,
    degraded: listOf(
      TEXT,
      "`reload_failed`, `evidence`, `evidence_retention`, `limits`, `policies`, `policy_modules`, `suspended_policies`, `workers`; empty when all is well.",
    ),
    egress_proxies: listOf(
      TEXT,
      "Forward proxies of calls to providers (`--egress-proxy`): scheme, host and port. Absent: none.",
    ),
    workers: complete(
      {
        worker: described(
          COUNT,
          "The one that answers; 0 is the first process, which has the admin listener.",
        ),
        configured: { type: "integer", minimum: 1, description: "Configured number." },
        ready: described(COUNT, "Number that takes requests."),
      },
      "With several processes (`--workers`): the one that answers, and their number.",
    ),
    evidence: {
      type: "object",
      description: "The store of decisions and outcomes, as this process sees it.",
      required: ["state"],
      properties: {
        state: {
          enum: ["ok", "unavailable"],
          description: "`unavailable`: requests may be refused with 503.",
        },
        cause: {
          enum: [...EVIDENCE_FAULT_CAUSES],
          description:
            "Fault of the database under the running server: one of its files was removed, replaced or truncated, its log ends before what this process wrote (`log_behind`), is another one (`log_differs`), or cannot be read by a separate connection (`log_unreadable`).",
        },
        file: described(TEXT, "The name of that file."),
      },
    },
  },
} as const;

export const HEALTH = {
  title: "Health",
  type: "object",
  required: [
    "object",
    "endpoints",
    "evidence",
    "replicas",
    "degraded",
    "build_id",
    "table_sha256",
    "policy_set",
  ],
  additionalProperties: false,
  properties: {
    object: { const: "health" },
    endpoints: listOf(
      whole({
        id: TEXT,
        provider: TEXT,
        region: TEXT,
        model: TEXT,
        plaintext: described(
          BOOLEAN,
          "Its calls are http without TLS, in a network of the operator's.",
        ),
        routes: listOf(TEXT, "Routes of the workspace that have it."),
        state: {
          enum: HEALTH_STATES,
          description:
            "The worst of `operations`, without token counts. `half_open`: the next call finds out whether it has recovered.",
        },
        retry_in_ms: described(NULLABLE_AMOUNT, "Until it is tried again."),
        failure: {
          enum: [...FAILURE_KINDS, null],
          description: "The latest failure that counted; `null` when healthy.",
        },
        consecutive_failures: COUNT,
        latency_ms: whole(
          {
            p50: NULLABLE_AMOUNT,
            p90: NULLABLE_AMOUNT,
            recent: NULLABLE_AMOUNT,
            age_ms: NULLABLE_AMOUNT,
          },
          "To the first token.",
        ),
        tokens_per_second: whole({ p50: NULLABLE_AMOUNT, age_ms: NULLABLE_AMOUNT }),
        in_flight: COUNT,
        operations: {
          type: "object",
          description:
            "State by kind of calls that it has had; each is judged by its own calls. `unsupported`: it answered 404 to a token count.",
          additionalProperties: false,
          properties: Object.fromEntries(CALL_KINDS.map((kind) => [kind, { enum: HEALTH_STATES }])),
        },
      }),
      "Endpoints of the workspace's routes, as the calls of the answering process show them. On the admin listener of a server with workers: of all workers, with the worst state, the newest measurements and all calls in flight.",
    ),
    evidence: whole({ state: { enum: ["ok", "unavailable"] } }),
    replicas: {
      type: ["array", "null"],
      description:
        "Processes that write the shared store, each from its first decision on, with those lost in the last hour; `null` while the store cannot be read. All workers of a server over SQLite are one.",
      items: whole({
        started_at: INSTANT,
        seen_at: described(INSTANT, "When it last said that it runs."),
        state: {
          enum: ["running", "lost"],
          description: "`lost`: it did not close, and its lease is over.",
        },
      }),
    },
    degraded: STATUS.properties.degraded,
    workers: STATUS.properties.workers,
    build_id: TEXT,
    table_sha256: digest,
    policy_set: POLICY_SET,
  },
} as const;

export type HealthAnswer = ValueOf<typeof HEALTH>;
