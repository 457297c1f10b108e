import { areaOf, hostEvidence } from "../../../compile/checks/regions.ts";
import type { Preset } from "../../../compile/presets.ts";
import { hostKind } from "../../../network/address.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";
import type { Reading, Origin } from "../source.ts";
import { asId } from "./rows.ts";

/**
 * Region of providers whose source does not state where they process. It is in no area, so policies
 * about areas deny it.
 */
export const UNSTATED = "unstated";
/** Region of hosts in the operator's network. */
export const ON_PREMISES = "on-premises";

interface ProviderLocation {
  readonly region: string;
  /** `base_url` of the row; `null`: the preset's. */
  readonly baseUrl: string | null;
  /** Reason for a person to check the region or the address. */
  readonly doubt?: string;
}

interface PlacedProvider {
  readonly region: string;
  /** The host is on this machine or in a private network. */
  readonly isPrivate: boolean;
  /** Keys of the row. */
  readonly address: {
    readonly base_url?: string;
    readonly network?: "private" | "public";
    readonly plaintext?: true;
  };
}

/**
 * The address of a provider, and the region in which it processes. Reports doubts about both.
 *
 * @param address base URL of the source, valid; `null`: that of the preset.
 * @param wantedRegion region in the source.
 */
export function placeProvider(
  preset: Preset | undefined,
  address: string | null,
  wantedRegion: string | null,
  origin: Origin,
  { report }: Reading,
): PlacedProvider {
  const claimed =
    wantedRegion === null || wantedRegion === "" ? null : asId(wantedRegion, UNSTATED);
  const { region, baseUrl, doubt } =
    address === null ? ofPreset(preset, claimed) : ofAddress(preset, address, claimed);
  if (doubt !== undefined) report.add("decide", origin, doubt);
  if (baseUrl === null) return { region, isPrivate: region === ON_PREMISES, address: {} };
  const { protocol, hostname } = new URL(baseUrl);
  const isPrivate = isOwnHost(hostname);
  // The preset of a model server would let a name of the internet lead into the operator's network.
  const widensNetwork = preset?.provider.network === "private" && !hostname.endsWith(".invalid");
  const isUnencrypted = protocol === "http:" && !/^(?:localhost|\[::1\]|127\..*)$/.test(hostname);
  if (isUnencrypted)
    report.add(
      isPrivate ? "decide" : "changed",
      origin,
      isPrivate
        ? "plain http in a network of your own: `plaintext: true` is written; give this server TLS where the network is shared"
        : "plain http over the internet: `https` is written, because keys and prompts would cross it unencrypted",
    );
  return {
    region,
    isPrivate,
    address: {
      base_url: isUnencrypted && !isPrivate ? baseUrl.replace(/^http:/, "https:") : baseUrl,
      ...((isPrivate || widensNetwork) && { network: isPrivate ? "private" : "public" }),
      ...(isUnencrypted && isPrivate && { plaintext: true }),
    },
  };
}

/** @param claimed region in the source. */
function ofPreset(preset: Preset | undefined, claimed: string | null): ProviderLocation {
  const { regions, address = "", region: declared } = preset ?? {};
  if (regions === undefined) {
    const isShown = URL.canParse(address) && hostEvidence(new URL(address).hostname) !== null;
    return {
      region: (isShown ? declared : claimed) ?? UNSTATED,
      baseUrl: address,
      doubt:
        "the host contains a name of your account, which the source does not have: replace the part in capitals",
    };
  }
  const all = Object.entries(regions);
  if (claimed !== null && Object.hasOwn(regions, claimed))
    return { region: claimed, baseUrl: null };
  const area = claimed === null ? null : areaOf(claimed);
  const inArea =
    area?.length === 1 ? all.find(([name]) => areaOf(name)?.[0] === area[0]) : undefined;
  if (inArea !== undefined) {
    const doubt = `\`${inArea[0]}\` is the first region of \`${claimed}\` that the preset has: write the one that you use`;
    return { region: inArea[0], baseUrl: null, doubt };
  }
  const [widest, url] = all.find(([name]) => name === "global") ?? all[0] ?? ["global", ""];
  if (claimed !== null && area !== null && area.length > 1 && url.includes(widest))
    return { region: claimed, baseUrl: url.replaceAll(widest, claimed) };
  const isCertain = widest === "global" || widest === ON_PREMISES || all.length === 1;
  if (claimed === null && isCertain) return { region: widest, baseUrl: null };
  const doubt = `the region is not known here: \`${widest}\` is written; docs/presets.md lists the others`;
  return { region: widest, baseUrl: null, doubt };
}

function ofAddress(
  preset: Preset | undefined,
  address: string,
  claimed: string | null,
): ProviderLocation {
  const bare = (url: string) => url.replace(/\/+$/, "");
  const regionEntry = Object.entries(preset?.regions ?? {}).find(
    ([, url]) => bare(url) === bare(address),
  );
  if (regionEntry !== undefined) return { region: regionEntry[0], baseUrl: null };
  const { hostname } = new URL(address);
  const shown = hostEvidence(hostname);
  if (shown !== null) return { region: shown.location.at(-1) ?? "global", baseUrl: address };
  const region = claimed ?? (isOwnHost(hostname) ? ON_PREMISES : UNSTATED);
  if (region !== UNSTATED) return { region, baseUrl: address };
  const doubt = `the source does not state where this provider processes data: region \`${UNSTATED}\` is written; write the real one`;
  return { region, baseUrl: address, doubt };
}

const OPEN_SERVER: JsonObject = { dialect: "openai-chat", flags: ["no_store_field"] };
/** Presets that other servers of their protocol are named after, and the row of such a server. */
const PROTOCOLS: Readonly<Record<string, JsonObject>> = {
  openai: OPEN_SERVER,
  "openai-responses": { dialect: "openai-responses" },
};
const PROTOCOL_HOSTS = /\.openai\.com$/;

/**
 * The preset of an address, or the keys of a row without one: another server gets none of the
 * members that only the vendor has.
 *
 * @param preset `null`: only OpenAI's protocol is known.
 * @param base valid; `null`: the preset's.
 */
export function presetAt(
  preset: string | null,
  base: string | null,
): { readonly preset: string | null; readonly row: JsonObject } {
  const other = preset === null ? OPEN_SERVER : PROTOCOLS[preset];
  const isOtherHost =
    preset === null || (base !== null && !PROTOCOL_HOSTS.test(new URL(base).hostname));
  return other !== undefined && isOtherHost ? { preset: null, row: other } : { preset, row: {} };
}

/**
 * Whether a host is private: an address of a private network, a name without a dot, or a name that
 * only a private network resolves.
 */
function isOwnHost(hostname: string): boolean {
  const kind = hostKind(hostname);
  if (kind !== null) return kind === "private";
  return (
    !hostname.includes(".") || /\.(?:local|internal|lan|home\.arpa|svc)$|\.svc\./.test(hostname)
  );
}

/**
 * The group that a region is listed in; the compiler compares regions of a group named after an
 * area with hosts.
 */
export function groupOf(region: string): string {
  if (region === UNSTATED) return UNSTATED;
  const area = areaOf(region);
  return area === null ? "own" : (area[0] ?? "world");
}

/** Paths of single operations, which a base URL does not have. */
const OPERATION_PATH =
  /\/(?:chat\/completions|completions|embeddings|rerank|v1\/messages|messages)\/*$/;

/** The address of calls, in the source or only in its environment. */
export interface Address {
  /**
   * Without credentials, query and slash at the end; {@link MISSING_ADDRESS} where the source does
   * not have it.
   */
  readonly base: string;
  /**
   * Name of the variable that has it, or of the line, so that two missing addresses are two
   * providers; `null` for an address of the source.
   */
  readonly missing: string | null;
}

/**
 * Placeholder for an address that is not in the source: the preset's host would receive prompts and
 * keys of another server. `.invalid` never resolves (RFC 2606, section 2), and `check` reports the
 * capitals.
 */
const MISSING_ADDRESS = "https://RESOURCE.invalid";

/**
 * Reports an address that the source does not have. @param variable that has it, where the source
 * names one.
 */
export function missingAddress(
  variable: string | null,
  origin: Origin,
  why: string,
  { report }: Reading,
): Address {
  report.add(
    "decide",
    origin,
    `${why}: write it into \`base_url\` instead of the placeholder, which \`check\` reports until then`,
  );
  return {
    base: MISSING_ADDRESS,
    missing: asId(variable?.replaceAll("_", "-") ?? "", `line-${origin.at.line}`),
  };
}

/**
 * Templates of addresses in deployments: `os.environ/X`, `${X}`, `$(X)`, `{{ X }}`, `{x}`,
 * `<x>`, `[x]`, `%X%`; parts of a host in capitals and `your-host`, which are of documentation.
 */
const TEMPLATE =
  /(?:^os\.environ\/|\$|\{|<|\[(?![\d:a-f.]+\])|%(?=\w+%)|\/\/(?:[^/]*\.)?(?=[A-Z][A-Z\d_-]{2,}(?:[.:/]|$)|your[_-]))\W*([A-Za-z_]\w*)?/;
/**
 * URLs take a host that ends in a number for an IPv4 address (WHATWG URL, section 3.5, "ends in a
 * number").
 */
const NUMBER_HOST = /^https?:\/\/[^/?#]*[a-z_-][^/?#]*\.\d+(?=[:/?#]|$)/i;

/** Converts a base URL of the source for routes.yaml. */
export function baseUrlOf(text: string, origin: Origin, reading: Reading): Address {
  const { findings, report } = reading;
  const missing = (why: string, variable: string | null = null) =>
    missingAddress(variable, origin, why, reading);
  if (text.trim() === "") return missing("the address is empty in the source");
  const template = TEMPLATE.exec(text);
  if (template !== null) {
    const variable = template[1] ?? null;
    const where = variable === null || looksLikeSecret(variable) ? "" : ` (\`${variable}\`)`;
    return missing(`the address is not in the source but in its environment${where}`, variable);
  }
  if (NUMBER_HOST.test(text) && !URL.canParse(text))
    return missing(
      "no URL can have this host, because its last part is a number. Give the server another name",
    );
  if (!URL.canParse(text) || !/^https?:\/\/[^\s\\]+$/.test(text)) {
    findings.add(
      "WRONG_VALUE",
      origin.at,
      "this is not an http(s) URL",
      "write scheme, host and path",
    );
    return { base: MISSING_ADDRESS, missing: "" };
  }
  const { protocol, host, pathname, username, password, search, hash } = new URL(text);
  if (username !== "" || password !== "")
    report.add(
      "decide",
      origin,
      "the URL holds credentials, which are not carried over; put them into the environment",
    );
  if (search !== "" || hash !== "")
    report.add("left_out", origin, "the query of the URL: base URLs have none");
  const base = `${protocol}//${host}${pathname}`.replace(/\/+$/, "").replace(OPERATION_PATH, "");
  if (!looksLikeSecret(base)) return { base, missing: null };
  return missing("the address looks as if it held a credential, so it is not carried over");
}
