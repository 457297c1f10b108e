import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { EmbedPurpose, EmbedRequest } from "../../canon/unary/embed.ts";

/** The inputs of a request at an endpoint that takes text only. */
export function textsOf({ inputs }: EmbedRequest): readonly string[] | ServiceError {
  const texts = inputs.filter((input) => typeof input === "string");
  return texts.length === inputs.length
    ? texts
    : notSupported("input must be text: an endpoint that may get the request takes no tokens", "input");
}

/** The input of a request at an endpoint that embeds one text a call. */
export function onlyText(request: EmbedRequest): string | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const [text] = texts;
  return text !== undefined && texts.length === 1
    ? text
    : notSupported("input must be one text: an endpoint that may get the request embeds one a call", "input");
}

/**
 * The protocol's value for the purpose of the vectors.
 *
 * @param values the purposes that the protocol has, and its values for them.
 */
export function formatPurpose(
  purpose: EmbedPurpose,
  values: Readonly<Partial<Record<EmbedPurpose, string>>>,
): string | ServiceError {
  const value = values[purpose];
  if (value !== undefined) return value;
  const known = Object.keys(values).join(" or ");
  const rule = known === "" ? "must be left out" : `must be ${known}`;
  return notSupported(`input_type ${rule}: an endpoint that may get the request supports no other`, "input_type");
}

function notSupported(message: string, param: string): ServiceError {
  return invalidRequest("feature_not_supported", message, param);
}
