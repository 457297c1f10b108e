import { ROLES } from "../../canon/table.ts";
import { choose, list, object, ref, refs, text } from "./schema.ts";

/** Plain http stays on this machine. */
const HTTPS =
  "(?:https://[^\\s/?#@]+|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::[0-9]{1,5})?)";

const CLAIM = text("^[!-~]{1,128}$", "the name of a claim, such as `groups`");

const oidc = object(
  "The provider of OpenID Connect at which people sign in (authorization code with PKCE). Its redirect URI is `url` with `/console/oidc/callback`.",
  {
    label: {
      ...text("^[^\\u0000-\\u001f]{1,64}$", "1 to 64 characters"),
      default: "Single sign-on",
      description: "Text of the button on the sign-in page.",
    },
    issuer: {
      ...text(
        `^${HTTPS}(?:/[^\\s?#]*)?$`,
        "an https URL as the provider writes it; plain http is allowed for loopback addresses only",
      ),
      description:
        "The provider's issuer identifier; `/.well-known/openid-configuration` below it is read.",
    },
    client_id: {
      ...text("^[ -~]{1,256}$", "the id that the provider gave this client"),
      description: "Id of this client at the provider.",
    },
    client_secret: ref(
      "secret",
      "Secret of this client. Without it the client is a public one, and PKCE alone protects the code.",
    ),
    scopes: list(
      "Scopes to request besides `openid`.",
      text("^[!#-\\[\\]-~]{1,128}$", "a scope, such as `groups`"),
    ),
    groups_claim: {
      ...CLAIM,
      default: "groups",
      description: "Claim of the ID token that lists the person's groups.",
    },
    name_claim: {
      ...CLAIM,
      description:
        "Claim of the ID token with the person's name. It is stored with their sessions and approvals; without this key no name is read.",
    },
  },
  ["issuer", "client_id"],
);

const role = object(
  "What the members of a group may do.",
  {
    group: {
      ...text("^[^\\u0000-\\u001f]{1,256}$", "1 to 256 characters"),
      description: "A group as the provider names it in `groups_claim`.",
    },
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
    url: {
      ...text(
        `^${HTTPS}$`,
        "an https origin without a path; plain http is allowed for loopback addresses only",
      ),
      description:
        "Origin at which browsers reach the console. With https, cookies are sent over TLS only.",
    },
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
