import { DEFAULT_KEY_ENVIRONMENT, TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import { BUDGET_PERIODS } from "../../canon/limits.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import {
  ALERT_EVENTS,
  BALANCES,
  DEFAULT_PROMOTION,
  OWNER_PATTERN,
  ROLES,
} from "../../canon/table.ts";
import { WORKLOAD_SCOPES } from "../../canon/workload-identity.ts";
import { choose, flag, list, object, range, ref, refs, rows, text } from "./schema.ts";
import {
  DEFAULT_BALANCE,
  DEFAULT_ENVIRONMENTS,
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_MAX_EJECTED_SHARE,
  DEFAULT_POLICY_DIRECTORY,
} from "../normalised/defaults.ts";

/** A row of `routes`. */
export const route = object(
  "A public model name: what clients write as `model`.",
  {
    title: text(
      "^[^\\u0000-\\u001f\\u007f]{1,120}$",
      "one line of at most 120 characters",
      "Name shown to people. The id unless set.",
    ),
    primary: ref("name", "Endpoint that is tried first, alone or among its `peers`."),
    peers: refs(
      "name",
      "The other endpoints of the load-balanced group of the primary: `balance` defines which of them gets a request.",
    ),
    balance: {
      enum: [...BALANCES],
      default: DEFAULT_BALANCE,
      description:
        "How the primary and its `peers` share requests. `order`: the first that can. `weighted`: at random, by `weights`. `price`: the cheapest first. `latency`: by the time to the first token of streams, or to the whole answer, the better of two at random. `throughput`: the most tokens a second first. `least_in_flight`: the one with the fewest calls under way. `sticky`: the same conversation to the same endpoint, for the sake of prompt caches, shared by `weights`. The others are tried after the first one.",
    },
    weights: rows(
      "Endpoint → its share, for `balance: weighted` and `sticky`. 1 for those that are not named; 0: only when the others have failed.",
      { $ref: "#/$defs/name" },
      range("number", 0, 1_000_000),
    ),
    fallbacks: {
      type: "array",
      description:
        "Endpoints tried after the primary and its `peers`, in this order. `{route: id}` means all endpoints of another route, with its load-balanced group as in that route. An endpoint that occurs twice is tried once, at its first position.",
      items: choose(
        "object",
        object("The endpoints of another route.", { route: ref("name", "Id under `routes`.") }, [
          "route",
        ]),
        { $ref: "#/$defs/name" },
      ),
    },
    max_attempts: range(
      "integer",
      1,
      10,
      "Most calls for one request, retries included. The header `x-max-attempts` can only lower it.",
      DEFAULT_MAX_ATTEMPTS,
    ),
    resend_after_reset: flag(
      false,
      "Whether a request is sent to the same endpoint again after its connection was lost before any answer. The provider may have read the request, so it may be answered and charged twice. Without it such a request goes to the next endpoint of the route or fails. A request on a connection that the provider had already closed is always sent again.",
    ),
    max_ejected_share: range(
      "number",
      0,
      1,
      "Largest share of the route's endpoints that may be left out at once because their calls fail. One is always left.",
      DEFAULT_MAX_EJECTED_SHARE,
    ),
    hedge_after: ref(
      "duration",
      "After this time without an answer, a second endpoint is called too, and the first answer is used; both calls may be charged. Never unless set. For routes that embed or rerank.",
    ),
    on_gap: {
      enum: ["deny", "narrow"],
      default: "deny",
      description:
        "Effect of an endpoint of `peers` or `fallbacks` that lacks a capability which the request needs, or that is not approved for the workspace: `deny` denies the request, `narrow` leaves that endpoint out and records it in the decision.",
    },
    unknown_fields: {
      enum: ["reject", "strip", "forward"],
      default: "reject",
      description: "Effect of request fields that no dialect has.",
    },
    emulate_json_schema: flag(
      false,
      "Whether a response format is sent as a forced tool if an endpoint has no `json_schema`, or no `json_object`. Never together with reasoning or a forced tool.",
    ),
    operations: {
      ...refs(
        "operation",
        "Operations offered under this name. All operations of the primary unless set.",
      ),
      minItems: 1,
    },
  },
  ["primary"],
);

const ceilings = {
  requests_per_minute: range("integer", 1, 1_000_000_000, "Requests started in a minute."),
  tokens_per_minute: range(
    "integer",
    1,
    1_000_000_000_000,
    "Tokens, input and output together, in a minute.",
  ),
  concurrency: range("integer", 1, 1_000_000, "Requests running at once."),
  budget: {
    ...object(
      "Money, counted with the prices of this file, or tokens, for a calendar period. Exactly one of `usd` and `tokens`.",
      {
        usd: range("number", 0.000_001, 1_000_000_000, "US dollars."),
        tokens: range("integer", 1, 1_000_000_000_000_000, "Tokens, input and output together."),
        per: { enum: [...BUDGET_PERIODS], description: "Calendar period; weeks begin on Monday." },
        time_zone: {
          type: "string",
          description:
            "IANA name of the zone in which days, weeks and months begin, such as `Europe/Berlin`. UTC unless set.",
        },
      },
      ["per"],
    ),
    oneOf: [{ required: ["usd"] }, { required: ["tokens"] }],
  },
} as const;

/** A row of `workspaces`. */
export const workspace = object(
  "One tenant.",
  {
    tier: ref(
      "identifier",
      "How sensitive its data is, as a value that your policies use, such as `standard` or `regulated`.",
    ),
    labels: refs("identifier", "Values of `vocabulary.labels` that policies may read."),
    approve: object(
      "Routes, providers, regions and capabilities that the workspace may use. Lists only; there is no wildcard. `data_collection` and `retention` are ceilings: a provider above them is no candidate.",
      {
        routes: refs("name", "Route ids."),
        regions: refs("identifier", "Regions, or region groups for all regions in them."),
        providers: refs("identifier", "Provider ids."),
        capabilities: refs("capability", "Capabilities beyond text that its requests may use."),
        dimensions: list("Lengths of vectors that it may request.", range("integer", 1, 65_536)),
        context_window: ref(
          "tokens",
          "Largest context window of a model that it may embed with. Without it, no model is approved for embeddings.",
        ),
        data_collection: {
          enum: ["allow", "deny"],
          default: "allow",
          description:
            "With `deny`, providers with `trains_on_data` are no candidates, whatever a caller prefers. With `allow`, the preference `data_collection` of the request decides, which is `deny` unless it says otherwise.",
        },
        retention: {
          ...ref(
            "retention",
            "Longest `retention` of a provider that may be a candidate. No preference of a caller changes it.",
          ),
          default: "unlimited",
        },
      },
      ["routes", "regions", "providers"],
    ),
    default_moderation_route: ref("name", "Route for moderation requests that name none."),
    limits: object("Limits of all keys of the workspace together; no limits unless set.", {
      ...ceilings,
      per_key: object(
        "Limits of each key. A key's own limits can only be lower. The workspace's limits apply to all keys together.",
        ceilings,
      ),
      simulations_per_minute: range(
        "integer",
        1,
        1_000_000_000,
        "Calls of `POST /v1/route/simulate` in a minute, for each process. They count against no other limit.",
        120,
      ),
    }),
    on_revoke: {
      enum: ["end", "finish"],
      default: "end",
      description:
        "Running answers when a key is revoked: `end` them within a second, or let them `finish`. In both cases no further call begins.",
    },
    record: {
      enum: ["before_answer", "before_call"],
      default: "before_answer",
      description:
        "When a decision must be on disk: before the answer, or also before a provider is called.",
    },
  },
  ["tier", "approve"],
);

/** The section `vocabulary`. */
export const vocabulary = object(
  "Closed lists of values that policies can read. They read a value outside of its list as `other`.",
  {
    environments: {
      ...refs("identifier", "Environments that keys are made for."),
      default: DEFAULT_ENVIRONMENTS,
    },
    workloads: refs("identifier", "Workloads that keys are made for."),
    owners: list(
      "Owners of keys that policies can read.",
      text(
        OWNER_PATTERN,
        "an owner of keys, such as group:payments or an address, up to 128 characters without spaces",
      ),
    ),
    labels: refs("identifier", "Labels of workspaces and keys."),
  },
);

const POLICY_OR_ALL = text(
  "^(?:\\*|[a-z0-9]+(?:-[a-z0-9]+)*)$",
  "a policy id in kebab-case, or `*`",
);

/** A row of `policies.promotion`. */
const promotion = object("Requirements of a promotion.", {
  approvals: range(
    "integer",
    0,
    20,
    "How many people must have approved exactly this content. Keys that come from one key, by rotation or because one created the other, count as one person.",
    DEFAULT_PROMOTION.approvals,
  ),
  roles: {
    ...list(
      "Values of `vocabulary.labels`: each must be a label of the key of one of the approvers. One person may have several.",
      { $ref: "#/$defs/identifier" },
    ),
    default: DEFAULT_PROMOTION.roles,
  },
  self_approval: flag(
    DEFAULT_PROMOTION.selfApproval,
    "Whether the promoter's own approval counts.",
  ),
  soak: ref(
    "soak",
    "How long the content must have been in shadow; at most `90d`. `none` cancels the requirement of `*`.",
    { default: "none" },
  ),
  min_decisions: range(
    "integer",
    0,
    1_000_000_000,
    "For how many requests the content must have been evaluated in shadow.",
    DEFAULT_PROMOTION.decisions,
  ),
  no_indeterminate: flag(
    DEFAULT_PROMOTION.noIndeterminate,
    "Whether a verdict `indeterminate` in shadow forbids the promotion. When enforced it would deny.",
  ),
  report: flag(
    DEFAULT_PROMOTION.report,
    "Whether an approval must name the complete simulation report that the server makes itself.",
  ),
  assertions: flag(
    DEFAULT_PROMOTION.assertions,
    "Whether the assertions of that report must all have passed or been waived. Requires `report` too.",
  ),
});

/**
 * A relative path that stays below its folder: a table must not be able to make the router read
 * elsewhere.
 */
export const POLICY_DIRECTORY = "^(?!/)(?!.*(?:^|/)\\.\\.(?:/|$))[^\\\\\\u0000-\\u001f]{1,256}$";

const DENIAL_LINK = "^https://[^\\s/?#@{}]+(?:/(?:[^\\s{}]|\\{(?:policy|constraint|reason)\\})*)?$";

/** The section `policies`. */
export const policies = object("The folder of the policies, and how they start.", {
  dir: {
    ...text(
      POLICY_DIRECTORY,
      "a relative path with `/` that stays below the folder of routes.yaml",
      "Folder of the policies, relative to this file.",
    ),
    default: DEFAULT_POLICY_DIRECTORY,
  },
  initial_mode: rows(
    "Policy id, or `*` for all others, and the mode in which a store starts a policy that it has never seen. Afterwards only a promotion moves it. `*` is `shadow` unless set.",
    POLICY_OR_ALL,
    { enum: ["shadow", "enforce"] },
  ),
  promotion: rows(
    "Policy id, or `*` for all others, and the requirements of a promotion. A requirement that the policy's own row leaves out is taken from `*`.",
    POLICY_OR_ALL,
    promotion,
  ),
  managed_by: {
    ...refs(
      "identifier",
      "Workspaces whose keys, with `operations:manage`, may approve, promote, roll back, withdraw and release policies, and read the summaries of all workspaces. Unless set, no workspace may if there is more than one.",
    ),
    minItems: 1,
  },
  denial_link: text(
    DENIAL_LINK,
    "an https URL, with {policy}, {constraint} and {reason} as placeholders",
    "Where a denied caller reads more, for the error's `policy.link`: a URL with `{policy}`, `{constraint}` and `{reason}`.",
  ),
});

/** An origin. Plain http stays on this machine: what it carries could be read or replaced. */
const HTTPS =
  "(?:https://[^\\s/?#@]+|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::[0-9]{1,5})?)";

const HTTPS_URL = `^${HTTPS}(?:/[^\\s?#]*)?$`;

const CLAIM = ["^[!-~]{1,128}$", "the name of a claim, such as `groups`"] as const;

const oidc = object(
  "The provider of OpenID Connect at which people sign in (authorization code with PKCE). Its redirect URI is `url` with `/console/oidc/callback`.",
  {
    label: {
      ...text(
        "^[^\\u0000-\\u001f]{1,64}$",
        "1 to 64 characters",
        "Text of the button on the sign-in page.",
      ),
      default: "Single sign-on",
    },
    issuer: text(
      HTTPS_URL,
      "an https URL as the provider writes it; plain http is allowed for loopback addresses only",
      "The provider's issuer identifier; `/.well-known/openid-configuration` below it is read.",
    ),
    client_id: text(
      "^[ -~]{1,256}$",
      "the id that the provider gave this client",
      "Id of this client at the provider.",
    ),
    client_secret: ref(
      "secret",
      "Secret of this client. Without it the client is a public one, and PKCE alone protects the code.",
    ),
    scopes: list(
      "Scopes to request besides `openid`.",
      text("^[!#-\\[\\]-~]{1,128}$", "a scope, such as `groups`"),
    ),
    groups_claim: {
      ...text(...CLAIM, "Claim of the ID token that lists the person's groups."),
      default: "groups",
    },
    name_claim: text(
      ...CLAIM,
      "Claim of the ID token with the person's name. It is stored with their sessions and approvals; without this key no name is read.",
    ),
  },
  ["issuer", "client_id"],
);

const role = object(
  "What the members of a group may do.",
  {
    group: text(
      "^[^\\u0000-\\u001f]{1,256}$",
      "1 to 256 characters",
      "A group as the provider names it in `groups_claim`.",
    ),
    role: {
      enum: ROLES,
      description:
        "`viewer`: read. `approver`: read, approve policies and withdraw approvals. `operator`: everything that `operations:manage` may. `administrator`: the keys of all workspaces too, as `platform:manage` may; for `workspaces: all` only.",
    },
    workspaces: {
      description: "The workspaces in which they may, or `all`.",
      ...choose(
        "string",
        { enum: ["all"] },
        { ...refs("identifier", "Ids of workspaces."), minItems: 1 },
      ),
    },
  },
  ["group", "role", "workspaces"],
);

/** The section `console`. */
export const consoleSection = object(
  "The operators' page: who may sign in, and for how long.",
  {
    url: text(
      `^${HTTPS}$`,
      "an https origin without a path; plain http is allowed for loopback addresses only",
      "Origin at which browsers reach the console. With https, cookies are sent over TLS only.",
    ),
    idle: ref("duration", "A session ends when it has not been used for so long; at least 5m.", {
      default: "30m",
    }),
    absolute: ref("duration", "A session ends so long after the sign-in; at most 720h.", {
      default: "12h",
    }),
    oidc,
    roles: {
      type: "array",
      description:
        "What groups of the provider may do. People in none of these groups cannot sign in.",
      items: role,
    },
  },
  ["url"],
);

const URL_MESSAGE =
  "an https URL without a query; plain http is allowed for loopback addresses only";

/** The section `alerts`. */
export const alerts = object(
  "A webhook that reports conditions operators should look at, for teams without Prometheus. Each message is a POST of JSON with the header `x-signalbox-signature`.",
  {
    url: text(HTTPS_URL, URL_MESSAGE, "Where the messages go."),
    network: {
      enum: ["public", "private"],
      default: "public",
      description: "`private`: `url` may be at a private address or on this machine.",
    },
    secret: ref("secret", "Key of the HMAC-SHA256 in `x-signalbox-signature`."),
    events: {
      ...list("What is reported. Everything unless set.", { enum: ALERT_EVENTS }),
      minItems: 1,
    },
  },
  ["url", "secret"],
);

const issuer = object(
  "Who signs the JWTs of workloads: a Kubernetes cluster, a cloud, a CI system. Its keys come from `jwks_uri`, from `jwks_file`, or else by discovery: from `/.well-known/openid-configuration` below `issuer`.",
  {
    issuer: text(
      "^[!-~]{1,512}$",
      "the claim `iss` of its tokens, without spaces",
      "The claim `iss` of its tokens, exactly as they have it.",
    ),
    jwks_uri: text(HTTPS_URL, URL_MESSAGE, "URL of its public keys (JWK Set, RFC 7517 section 5)."),
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
    audience: text(
      "^[!-~]{1,512}$",
      "one value of the claim `aud`, without spaces",
      "A value that the claim `aud` must have. Take one that only Signalbox accepts.",
    ),
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
    owner: text(
      OWNER_PATTERN,
      "an owner, such as group:payments or an address, up to 128 characters without spaces",
      "Owner of the caller, as of a key.",
    ),
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
