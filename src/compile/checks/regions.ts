import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { ResolvedContext } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";

/**
 * Compares declared regions with those in hosts and model ids: the first line of defence against a
 * row that declares `eu` and is processed elsewhere.
 */
export function checkRegions(context: ResolvedContext): void {
  const shownByHost = new Map<string, Evidence>();
  for (const provider of context.normalised.providers.values()) {
    const evidence = hostEvidence(URL.parse(provider.baseUrl)?.hostname ?? "");
    if (evidence === null) continue;
    shownByHost.set(provider.id, evidence);
    compare(context, provider.region, evidence, `the host of provider ${quote(provider.id)}`, [
      "providers",
      provider.id,
      "region",
    ]);
  }
  for (const [id, { row, index }] of context.endpoints) {
    const declared = context.file.endpoints[index]?.region;
    const path = ["endpoints", index, declared === undefined ? "upstream_model" : "region"];
    const byModel = modelIdEvidence(row.upstreamModel);
    if (byModel !== null)
      compare(context, row.region, byModel, `the upstream model of endpoint ${quote(id)}`, path);
    const byHost = shownByHost.get(row.provider);
    // Without a region of its own the endpoint repeats its provider's finding.
    if (declared !== undefined && byHost !== undefined)
      compare(context, declared, byHost, `the host of endpoint ${quote(id)}`, path);
  }
}

function compare(
  { normalised, declared, report }: CompileContext,
  region: string,
  evidence: Evidence,
  source: string,
  path: Path,
) {
  if (!declared.regions.has(region)) return;
  const claims = claimsOf(region, normalised.regionGroups);
  const shows = `${source} names ${evidence.shown}`;
  if (claims.length === 0) {
    report.value(
      "REGION_UNVERIFIED",
      path,
      `${shows}, which cannot be compared with the region ${quote(region)}`,
      "list the region in a group named after its area, such as `eu` or `us`",
    );
    return;
  }
  const outcomes = claims.map((claim) => compareAreas(claim, evidence.location));
  if (outcomes.includes("same")) return;
  const unpinned = outcomes.includes("wider") && (evidence.open || evidence.location.length > 0);
  if (unpinned) {
    report.value(
      "REGION_NOT_PINNED",
      path,
      `${shows}, so requests may be processed outside ${quote(region)}`,
    );
  } else {
    report.value(
      "REGION_CONTRADICTED",
      path,
      `${shows}, but the region declared is ${quote(region)}`,
      "declare the region where the provider really processes requests, or change host or model id",
    );
  }
}

/**
 * The areas that a region's name claims; those of its groups where the name follows no convention.
 */
function claimsOf(region: string, groups: ReadonlyMap<string, readonly string[]>): readonly Area[] {
  const claimed = areaOf(region);
  if (claimed !== null) return [claimed];
  return [...groups].flatMap(([group, regions]) => {
    const location = regions.includes(region) ? areaOf(group) : null;
    return location === null ? [] : [location];
  });
}

/**
 * Forms of hosts, paths and model ids that show where requests are processed. `region` is the name
 * inside the form. Other forms have a fixed meaning: `worldwide` may process anywhere, `open`
 * depends on the customer's account. Where each form is documented: the providers' own pages on
 * data residency, inference profiles and regional endpoints.
 */
const HOSTS: readonly Form[] = [
  { form: /^(?<region>us|eu|ae|au|in|jp)\.api\.openai\.com$/ },
  { form: /^api\.openai\.com$/, reveals: "open" },
  {
    form: /^bedrock(?:-runtime|-agent-runtime|-mantle)?(?:-fips)?\.(?<region>[a-z]{2}(?:-[a-z]+)+-\d)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$/,
  },
  { form: /^(?<region>[a-z]+-[a-z]+\d+|us|eu)-aiplatform\.googleapis\.com$/ },
  { form: /^aiplatform\.(?<region>us|eu)\.rep\.googleapis\.com$/ },
  { form: /^aiplatform\.googleapis\.com$/, reveals: "worldwide" },
  { form: /^(?<region>eu|us)\.openrouter\.ai$/ },
];

const MODEL_IDS: readonly Form[] = [
  { form: /^global\.[a-z0-9-]+\./, reveals: "worldwide" },
  { form: /^(?<region>us-gov|us|eu|apac|jp|au|ca|uk)\.[a-z0-9-]+\./ },
  { form: /^arn:aws[a-z-]*:bedrock:[a-z0-9-]*:\d*:[a-z-]+\/global\./, reveals: "worldwide" },
  {
    form: /^arn:aws[a-z-]*:bedrock:[a-z0-9-]*:\d*:[a-z-]+\/(?<region>us-gov|us|eu|apac|jp|au|ca|uk)\./,
  },
  { form: /^arn:aws[a-z-]*:bedrock:(?<region>[a-z0-9-]+):/ },
  { form: /^projects\/[^/]+\/locations\/(?<region>[a-z0-9-]+)\// },
];

interface Form {
  readonly form: RegExp;
  readonly reveals?: "worldwide" | "open";
}

/** The region that a host or model id names. */
interface Evidence {
  readonly location: Area;
  /** The region as the host or id names it. */
  readonly shown: string;
  /**
   * Whether the provider's account settings, which the files do not show, could still pin the
   * region.
   */
  readonly open: boolean;
}

/** `null` where the host shows nothing. */
export function hostEvidence(host: string): Evidence | null {
  return match(HOSTS, host.toLowerCase());
}

/** `null` where the provider's name for the model shows nothing. */
export function modelIdEvidence(upstreamModel: string): Evidence | null {
  return match(MODEL_IDS, upstreamModel.toLowerCase());
}

function match(forms: readonly Form[], text: string): Evidence | null {
  for (const { form, reveals } of forms) {
    const found = form.exec(text);
    if (found === null) continue;
    if (reveals !== undefined)
      return { location: [], shown: "the whole world", open: reveals === "open" };
    const name = found.groups?.region ?? "";
    const location = areaOf(name);
    if (location !== null) return { location, shown: `\`${name}\``, open: false };
  }
  return null;
}

/**
 * Areas as a path from wide to narrow, so that `eu-central-1` lies in `eu-central`, which lies in
 * `eu`. The empty path is the whole world. Two names of one area in different spellings
 * (`europe-west4`, `eu-west`) share their beginning.
 */
type Area = readonly string[];

/** First parts of region names, and the area that each lies in. */
const AREAS = new Map<string, Area>(
  Object.entries({
    global: [],
    us: ["us"],
    usgov: ["us", "usgov"],
    northamerica: ["northamerica"],
    ca: ["ca"],
    mx: ["mx"],
    sa: ["sa"],
    southamerica: ["sa"],
    eu: ["eu"],
    europe: ["eu"],
    uk: ["uk"],
    ch: ["ch"],
    ap: ["apac"],
    apac: ["apac"],
    asia: ["apac"],
    jp: ["apac", "jp"],
    in: ["apac", "in"],
    au: ["apac", "au"],
    australia: ["apac", "au"],
    me: ["me"],
    ae: ["me", "ae"],
    il: ["me", "il"],
    af: ["af"],
    africa: ["af"],
    cn: ["cn"],
  }),
);

/**
 * Regions whose name claims more than their area holds. London and Zürich are not in the European
 * Union; the others are national regions with a continent's name.
 */
const PARTICULAR = new Map<string, Area>(
  Object.entries({
    "eu-west-2": ["uk"],
    "europe-west2": ["uk"],
    "eu-central-2": ["ch"],
    "europe-west6": ["ch"],
    "ap-northeast-1": ["apac", "jp", "ap-northeast-1"],
    "ap-northeast-3": ["apac", "jp", "ap-northeast-3"],
    "asia-northeast1": ["apac", "jp", "asia-northeast1"],
    "asia-northeast2": ["apac", "jp", "asia-northeast2"],
    "ap-south-1": ["apac", "in", "ap-south-1"],
    "ap-south-2": ["apac", "in", "ap-south-2"],
    "asia-south1": ["apac", "in", "asia-south1"],
    "asia-south2": ["apac", "in", "asia-south2"],
    "ap-southeast-2": ["apac", "au", "ap-southeast-2"],
    "ap-southeast-4": ["apac", "au", "ap-southeast-4"],
  }),
);

/** The area in a region's name; `null` where the name follows no convention. */
export function areaOf(name: string): Area | null {
  const particular = PARTICULAR.get(name);
  if (particular !== undefined) return particular;
  const spelt = /^(?<area>us-gov|[a-z]+)(?:-(?<direction>[a-z]+))?(?:-?(?<number>\d+))?$/.exec(
    name,
  )?.groups;
  const areaName = (spelt?.area ?? "").replace("-", "");
  const area = AREAS.get(areaName);
  if (spelt === undefined || area === undefined) return null;
  const direction = spelt.direction;
  if (direction === undefined) return area;
  const side = [...area, `${area.at(-1) ?? areaName}-${direction}`];
  return spelt.number === undefined ? side : [...side, name];
}

/**
 * `same`: the claim holds. `wider`: the evidence allows areas outside the claim. `elsewhere`: it
 * contradicts it.
 */
export function compareAreas(claim: Area, evidence: Area): "same" | "wider" | "elsewhere" {
  const differs = claim.some((name, index) => index < evidence.length && name !== evidence[index]);
  if (differs) return "elsewhere";
  return evidence.length < claim.length ? "wider" : "same";
}
