import type {
  AuthoredAuth,
  AuthoredProvider,
  AuthoredWorkspace,
  AuthoredConsole,
  AuthoredPolicies,
} from "../routes-schema.ts";
import { awsHost } from "./aws-host.ts";
import * as defaults from "./defaults.ts";
import type { Budget, KeyLimits, WorkspaceLimits } from "../../canon/limits.ts";
import {
  SESSION_TIMES,
  type ConsoleSettings,
  type OidcSettings,
  type OnMissingSecret,
  type PolicySettings,
  type ProviderAuth,
} from "../../canon/table.ts";
import { milliseconds } from "./durations.ts";
import { mapSettings, type PromotionRequirements } from "../../canon/promotion.ts";

/** Authentication at a provider, with every default written out. */
export function normaliseAuth({ auth, base_url: baseUrl }: AuthoredProvider): ProviderAuth {
  if (auth === "none") return { kind: "none" };
  const onMissing = auth.on_missing_secret ?? "fail";
  return headerOf(auth, onMissing) ?? madePerCall(auth, baseUrl, onMissing);
}

function headerOf(
  { bearer, header, prefix, secret }: AuthoredAuth,
  onMissing: OnMissingSecret,
): ProviderAuth | null {
  if (bearer !== undefined) {
    return {
      kind: "header",
      header: "authorization",
      prefix: "Bearer ",
      secret: bearer,
      onMissing,
    };
  }
  if (header === undefined || secret === undefined) return null;
  return { kind: "header", header: header.toLowerCase(), prefix: prefix ?? "", secret, onMissing };
}

function madePerCall(
  { aws_sigv4: aws, google_oauth: google }: AuthoredAuth,
  baseUrl: string,
  onMissing: OnMissingSecret,
): ProviderAuth {
  if (aws !== undefined) {
    return {
      kind: "aws_sigv4",
      service: aws.service,
      // Empty only until `checks/providers.ts` has refused a row that neither names a region nor
      // has a host that does.
      region: aws.region ?? awsHost(baseUrl)?.region ?? "",
      credentials: aws.credentials,
      profile: aws.profile ?? defaults.DEFAULT_AWS_PROFILE,
      onMissing,
    };
  }
  if (google !== undefined) {
    const scopes = [...new Set(google.scopes ?? defaults.DEFAULT_GOOGLE_SCOPES)].toSorted();
    return { kind: "google_oauth", scopes, credentials: google.credentials, onMissing };
  }
  throw new TypeError("normaliseAuth: the schema let an `auth` pass that has none of its forms");
}

type AuthoredKeyLimits = NonNullable<NonNullable<AuthoredWorkspace["limits"]>["per_key"]>;

/** The ceilings of a workspace; `null` for each that the file does not set. */
export function normaliseLimits(limits: AuthoredWorkspace["limits"]): WorkspaceLimits {
  return {
    ...keyLimits(limits ?? {}),
    perKey: limits?.per_key === undefined ? null : keyLimits(limits.per_key),
    // Absent where it is not set: tables that do not use it keep their revision.
    ...(limits?.simulations_per_minute !== undefined && {
      simulationsPerMinute: limits.simulations_per_minute,
    }),
  };
}

function keyLimits(limits: AuthoredKeyLimits): KeyLimits {
  return {
    requestsPerMinute: limits.requests_per_minute ?? null,
    tokensPerMinute: limits.tokens_per_minute ?? null,
    concurrency: limits.concurrency ?? null,
    budget: limits.budget === undefined ? null : budgetOf(limits.budget),
  };
}

/** The schema sees to it that a budget has exactly one of both. */
function budgetOf({ usd, tokens, per }: NonNullable<AuthoredKeyLimits["budget"]>): Budget {
  return usd === undefined ? { tokens: tokens ?? 0, per } : { usd, per };
}

/** The section with every default; `undefined` where the file has none. */
export function normaliseConsole(
  authored: AuthoredConsole | undefined,
): ConsoleSettings | undefined {
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

/**
 * Rows with every member of their own, and who may change policies; each absent where the file does
 * not set it.
 */
export function normalisePromotion({
  promotion,
  managed_by: managedBy,
}: AuthoredPolicies = {}): Pick<PolicySettings, "promotion" | "managedBy"> {
  const rows = Object.entries(promotion ?? {});
  const { "*": everywhere = {} } = promotion ?? {};
  return {
    ...(rows.length > 0 && {
      promotion: Object.fromEntries(
        rows.map(([id, row]) => [id, requirements({ ...everywhere, ...row })]),
      ),
    }),
    ...(managedBy !== undefined && { managedBy: managedBy.toSorted() }),
  };
}

function requirements(
  row: NonNullable<AuthoredPolicies["promotion"]>[string],
): PromotionRequirements {
  const required = mapSettings("own", {
    count: ({ key, default: value }): number => row[key] ?? value,
    flag: ({ key, default: value }): boolean => row[key] ?? value,
    list: ({ key, default: value }): readonly string[] => row[key]?.toSorted() ?? value,
    duration: ({ key, default: value }): number => {
      const time = row[key] ?? "none";
      return time === "none" ? value : milliseconds(time);
    },
  });
  // Assertions are results of a report.
  return { ...required, report: required.report || required.assertions };
}
