import { SESSION_TIMES, type ConsoleSettings, type OidcSettings } from "../../canon/console.ts";
import type { AuthoredConsole } from "../routes-schema.ts";
import { milliseconds } from "./durations.ts";

/** The section with every default; `undefined` where the file has none. */
export function normaliseConsole(authored: AuthoredConsole | undefined): ConsoleSettings | undefined {
  if (authored === undefined) return undefined;
  const { url, idle, absolute, oidc, roles = [] } = authored;
  return {
    url,
    idle: idle === undefined ? SESSION_TIMES.idle : milliseconds(idle),
    absolute: absolute === undefined ? SESSION_TIMES.absolute : milliseconds(absolute),
    oidc: oidc === undefined ? null : normaliseOidc(oidc),
    roles: roles.map(({ group, role, workspaces }) => ({
      group,
      role,
      workspaces: typeof workspaces === "string" ? null : workspaces.toSorted(),
    })),
  };
}

function normaliseOidc(oidc: NonNullable<AuthoredConsole["oidc"]>): OidcSettings {
  return {
    label: oidc.label ?? "Single sign-on",
    issuer: oidc.issuer,
    clientId: oidc.client_id,
    clientSecret: oidc.client_secret ?? null,
    scopes: oidc.scopes?.toSorted() ?? [],
    groupsClaim: oidc.groups_claim ?? "groups",
    nameClaim: oidc.name_claim ?? null,
  };
}
