import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";
import { type ConfigNode, scalars } from "../../../compile/authored/tree.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { meansNoKey, type Secrets } from "../configuration/secrets.ts";
import { type Fields, isReference } from "../fields.ts";

export const REFERENCE = "os.environ/";

/** Keeps literal keys away from the variables that the source names. */
export function reserveVariables(tree: ConfigNode, secrets: Secrets): void {
  for (const { node } of scalars(tree)) {
    if (typeof node.value === "string" && node.value.startsWith(REFERENCE))
      secrets.reserve(node.value.slice(REFERENCE.length));
  }
}

/**
 * The variable of a key of the source.
 *
 * @param suggested name for a key that stands in the source itself.
 * @returns `null`: absent; `"none"`: the source says that the server wants no key.
 */
export function variableOf(
  fields: Fields,
  name: string,
  suggested: string,
  { secrets, report }: ImportedConfiguration,
): { readonly variable: string } | "none" | null {
  const text = fields.text(name);
  if (text === null) return null;
  const spot = fields.spot(name);
  if (text.startsWith(REFERENCE)) {
    const variable = secrets.named(text.slice(REFERENCE.length));
    if (variable === null) {
      report.add("decide", spot, `names no environment variable; \`${suggested}\` is written`);
      return { variable: secrets.named(suggested) ?? suggested };
    }
    report.add("carried", spot, `environment variable \`${variable}\``);
    return { variable };
  }
  if (meansNoKey(text)) {
    report.add("carried", spot, "no key: `auth: none`");
    return "none";
  }
  const variable = secrets.literal(text, suggested, spot);
  report.add("decide", spot, `this line holds a key: put it into the environment as \`${variable}\``);
  return { variable };
}

/** A text that goes into routes.yaml; `null` for what the environment would say, and for what looks like a credential. */
export function plainText(
  fields: Fields,
  name: string,
  { report }: ImportedConfiguration,
  what: string,
): string | null {
  const item = fields.item(name);
  if (item === null) return null;
  if (isReference(item.node)) {
    report.add("decide", item, `LiteLLM reads ${what} from the environment; write its value into routes.yaml`);
    return null;
  }
  const text = fields.text(name);
  if (text === null || !looksLikeSecret(text)) return text;
  report.add("decide", item, `${what} looks like a credential, so it is not carried over`);
  return null;
}
