import { DEFAULT_KEY_ENVIRONMENT, TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { OWNER_PATTERN } from "../../canon/table.ts";
import { WORKLOAD_SCOPES } from "../../canon/workload-identity.ts";
import { choose, list, object, ref, refs, rows, text } from "./schema.ts";

/** Keys that are fetched over plain http could be anybody's; only this machine is near enough. */
const HTTPS =
  "^(?:https://[^\\s/?#@]+|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::[0-9]{1,5})?)(?:/[^\\s?#]*)?$";

const URL_MESSAGE =
  "an https URL without a query; plain http is allowed for loopback addresses only";

const issuer = object(
  "Who signs the JWTs of workloads: a Kubernetes cluster, a cloud, a CI system. Its keys come from `jwks_uri`, from `jwks_file`, or else by discovery: from `/.well-known/openid-configuration` below `issuer`.",
  {
    issuer: {
      ...text("^[!-~]{1,512}$", "the claim `iss` of its tokens, without spaces"),
      description: "The claim `iss` of its tokens, exactly as they have it.",
    },
    jwks_uri: {
      ...text(HTTPS, URL_MESSAGE),
      description: "URL of its public keys (JWK Set, RFC 7517 section 5).",
    },
    jwks_file: ref(
      "path",
      "File with its public keys, below the folder of routes.yaml, for an issuer that the router cannot reach. It is read at start and reload.",
    ),
    network: {
      enum: ["public", "private"],
      default: "public",
      description:
        "Where its keys may be fetched: with `private` also from private addresses and this machine.",
    },
  },
  ["issuer"],
);

const claimValue = text(
  "^(?=.*[^*])[^\\u0000-\\u001f]{1,512}$",
  "the value of a claim, of which `*` is a part at most",
);

const scalar = choose("string", claimValue, { type: ["string", "boolean", "integer"] });

const rule = object(
  "Workloads whose JWT matches get a token of the workspace, and no key. A JWT that two rules match gets none.",
  {
    issued_by: ref("identifier", "Id under `issuers`."),
    audience: {
      ...text("^[!-~]{1,512}$", "one value of the claim `aud`, without spaces"),
      description: "A value that the claim `aud` must have. Take one that only Signalbox accepts.",
    },
    claims: {
      type: "object",
      description:
        "Claims that the JWT must have; all must match. A name that begins with `/` is a JSON pointer. A value is compared exactly; `*` in a text stands for at least one character other than `/` and `:`. A list means: one of them.",
      minProperties: 1,
      maxProperties: 16,
      propertyNames: text(
        "^[!-~]{1,256}$",
        "the name of a claim, such as `sub`, or a JSON pointer, such as `/kubernetes.io/namespace`",
      ),
      additionalProperties: choose(
        "array",
        { type: "array", items: scalar, minItems: 1, maxItems: 64, uniqueItems: true },
        scalar,
      ),
    },
    workspace: ref("identifier", "Workspace of the tokens."),
    scopes: {
      ...list("Scopes that a token may have, and has unless it is requested with fewer.", {
        enum: WORKLOAD_SCOPES,
      }),
      minItems: 1,
      default: ["inference"],
    },
    operations: {
      ...list("Operations that a token may be for. All unless set.", { enum: OPERATIONS }),
      minItems: 1,
    },
    routes: {
      ...refs(
        "name",
        "Routes that a token may be for. All that the workspace approves unless set.",
      ),
      minItems: 1,
    },
    lifetime: ref(
      "duration",
      `Longest life of a token, ${TOKEN_LIFETIME.minimum / 60}m to ${TOKEN_LIFETIME.maximum / 60}m. No token outlives the JWT.`,
      { default: "15m" },
    ),
    environment: ref(
      "identifier",
      "Value of `vocabulary.environments` that policies read of the caller.",
      {
        default: DEFAULT_KEY_ENVIRONMENT,
      },
    ),
    workload: ref(
      "identifier",
      "Value of `vocabulary.workloads` that policies read of the caller.",
    ),
    owner: {
      ...text(
        OWNER_PATTERN,
        "an owner, such as group:payments or an address, up to 128 characters without spaces",
      ),
      description: "Owner of the caller, as of a key.",
    },
    labels: refs(
      "identifier",
      "Values of `vocabulary.labels` that policies read of the caller, as of a key.",
    ),
  },
  ["issued_by", "audience", "claims", "workspace"],
);

/** The section `workload_identity`. */
export const workloadIdentity = object(
  "Tokens for workloads that hold no key: their platform's JWT is exchanged (RFC 8693).",
  {
    issuers: rows("Issuers of JWTs, by id.", { $ref: "#/$defs/identifier" }, issuer),
    rules: rows("Which workloads get a token, by id.", { $ref: "#/$defs/identifier" }, rule),
  },
  ["issuers", "rules"],
);
