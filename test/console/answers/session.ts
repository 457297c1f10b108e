import type { SignedIn } from "../../../console/api/session-answer.ts";

export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

export const SIGNED_IN: SignedIn = {
  signed_in: true,
  person: { subject: "sam@example.com", issuer: null, name: "Sam Okafor", key: "4fzkq8wpc2rt" },
  workspace: "search",
  workspaces: ["search", "support"],
  roles: ["operator"],
  scopes: [
    "governance:read",
    "catalogue:read",
    "route:simulate",
    "operations:manage",
    "spend:read",
  ],
  policies: {
    workspace: "search",
    scopes: ["governance:read", "operations:manage", "policies:approve"],
  },
  inference: null,
  csrf: "csrf-of-the-session",
  ends_at: "2026-11-24T14:00:00Z",
  idle_ends_at: "2026-11-24T02:30:00Z",
  build_id: "0.2.0+3f9c2a7b61d0",
};
