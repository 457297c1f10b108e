import { type Area, areaOf } from "./region-areas.ts";

/**
 * Forms of hosts, paths and model ids that show where requests are processed. `region` is the name inside the
 * form. Forms without it say so outright: `worldwide` may process anywhere, `open` leaves it to the customer's account.
 * Where each form is documented: the providers' own pages on data residency, inference profiles and regional endpoints.
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

/** What a host or model id shows. */
export interface Evidence {
  readonly location: Area;
  /** The region as the host or id names it. */
  readonly shown: string;
  /** Whether the provider's account settings, which the files do not show, could still pin the region. */
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
    if (reveals !== undefined) return { location: [], shown: "the whole world", open: reveals === "open" };
    const name = found.groups?.["region"] ?? "";
    const location = areaOf(name);
    if (location !== null) return { location, shown: `\`${name}\``, open: false };
  }
  return null;
}
